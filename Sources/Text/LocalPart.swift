/// Reports whether mail to this normalised address needs SMTPUTF8 (RFC 6531): its local part is not ASCII. Its domain
/// always is.
package func needsSMTPUTF8(_ email: String) -> Bool { !email.utf8.allSatisfy { $0 < 0x80 } }

/// Domains of Japanese mobile providers whose users have addresses such as `a..b@docomo.ne.jp` and `a.@ezweb.ne.jp`.
/// Their local part is not a dot-atom (RFC 5322, 3.2.3), so SMTP writes it as a quoted string (RFC 5321, 4.1.2).
private let domainsWithFreeDots = ["docomo.ne.jp", "ezweb.ne.jp", "au.com"]

/// Reports whether this domain or one of its parent domains allows local parts that repeat dots or end with one.
func hasFreeDots(_ domain: Span<UInt8>) -> Bool {
  domainsWithFreeDots.contains { name in
    let bytes = name.utf8
    let start = domain.count - bytes.count
    guard start == 0 || (start > 0 && domain[start - 1] == UInt8(ascii: ".")) else { return false }
    return bytes.enumerated().allSatisfy { domain[start + $0.offset] == $0.element }
  }
}
