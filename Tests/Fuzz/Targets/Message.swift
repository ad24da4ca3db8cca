import Wire

extension FuzzTarget {
  /// Every request message: accepted means unpacked within the budget and written again with the same fields; refused
  /// means that an independent reading refuses it too. The first byte chooses the message.
  static let message = FuzzTarget("message", seeds: messageSeeds) { input in
    var reader = InputReader(input)
    let type = messages[Int(reader.byte()) % messages.count]
    checkMessage(type, reader.rest())
  }

  /// What is served takes these, and the rest has what no request has: repeated fields of each kind.
  static let messages: [any WireMessage.Type] = [
    SignInRequest.self, ReauthenticateRequest.self, FetchProvidersRequest.self, LinkRequest.self, UnlinkRequest.self,
    CreateRequest.self, GetRequest.self, DeleteRequest.self, LookupRequest.self, CreateCustomTokenRequest.self,
    RefreshRequest.self, SignOutRequest.self, VerifyIdTokenRequest.self, GetSigningKeysRequest.self,
    HealthCheckRequest.self, ServerReflectionRequest.self, Session.self, ServerReflectionResponse.self,
    UpdateRequest.self, MergeRequest.self,
  ]

  private static func checkMessage<M: WireMessage>(_ type: M.Type, _ bytes: [UInt8]) {
    let reference = Reference.read(bytes, as: M.messageName)
    let arena = Arena(budgetBytes: 8 * 65_536)
    let name = M.messageName
    do {
      let value = try M.decode(bytes.span, arena: arena)
      let written = value.encodeBare(arena: arena)
      law(reference != nil, "\(name) was accepted, and is malformed")
      law(reference == Reference.read(written, as: name), "\(name) lost something on its way")
      let again = try? M.decode(written.span, arena: arena)
      law(again?.encodeBare(arena: arena) == written, "\(name) does not read what it wrote")
    } catch .malformed(.unpack) {
      law(false, "\(name) passed the scan and was not unpacked")
    } catch .tooLarge {
      law(bytes.count > 4_096, "\(name) of \(bytes.count) bytes is too large")
    } catch {
      law(reference == nil, "\(name) was refused as \(error), and is well-formed")
    }
    checkBudget(type, bytes)
  }

  /// A budget that is nearly spent refuses as one that is ample does, or says that it is too small.
  private static func checkBudget<M: WireMessage>(_ type: M.Type, _ bytes: [UInt8]) {
    do {
      _ = try M.decode(bytes.span, arena: Arena(budgetBytes: 256 + bytes.count))
    } catch {
      law(error != .malformed(.unpack), "\(M.messageName) passed the scan and did not fit its budget")
    }
  }
}
