import Store

extension Promise {
  static let credentials = [
    Promise("an identity reads back as it was written and names its owner") { bench in
      let identity = bench.identity("1", of: "ann", email: "a@example.com", tier: .authoritative)
      try await bench.prepare(.account(.insert(bench.account("ann"))), .identity(.insert(identity)))
      let facts = try await bench.load { $0.identity = identity.key }
      try bench.equal(facts.identityOwner, AccountState(account: bench.account("ann"), identities: [identity]))
    },
    Promise("identities are listed in the order they were linked") { bench in
      let early = bench.identity("z", of: "ann", provider: "z.com")
      let late = bench.identity("a", of: "ann", provider: "a.com", linkedAt: Bench.noon.adding(millis: 1))
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .identity(.insert(late)), .identity(.insert(early)))
      try bench.equal(try await bench.loadAccount("ann")?.identities, [early, late])
    },
    Promise("an identity belongs to one account") { bench in
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))),
        .identity(.insert(bench.identity("1", of: "ann"))))
      try bench.equal(try await bench.commit(.identity(.insert(bench.identity("1", of: "bob")))), .conflict(.identity))
      try bench.equal(try await bench.commit(.identity(.insert(bench.identity("1", of: "ann")))), .conflict(.identity))
      try await bench.prepare(.identity(.insert(bench.identity("1", of: "bob", provider: "oidc.corp"))))
    },
    Promise("several identities of one provider are found by their subjects and listed in the order of linking") {
      bench in
      let early = bench.identity("z", of: "ann", email: "a@example.com")
      let late = bench.identity("a", of: "ann", email: "b@example.com", linkedAt: Bench.noon.adding(millis: 1))
      let account = bench.account("ann", email: "ann@example.com")
      try await bench.prepare(
        .account(.insert(account)), .identity(.insert(late)), .identity(.insert(early)))
      let state = AccountState(account: account, identities: [early, late])
      for identity in state.identities {
        try bench.equal(try await bench.load { $0.identity = identity.key }.identityOwner, state)
      }
      try bench.equal(try await bench.loadMethods("ann@example.com"), state.methods)
      for address in ["a@example.com", "b@example.com"] {
        try bench.equal(try await bench.loadMethods(linked: address), state.methods)
      }
    },
    Promise("one of several identities of a provider is updated and deleted without the others") { bench in
      var (first, second) = (bench.identity("1", of: "ann"), bench.identity("2", of: "ann"))
      second.linkedAt = Bench.noon.adding(millis: 1)
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))),
        .identity(.insert(first)), .identity(.insert(second)))
      first.username = "new"
      try await bench.prepare(.identity(.update(first)))
      try bench.equal(try await bench.loadAccount("ann")?.identities, [first, second])
      try await bench.prepare(.identity(.delete(first.key, accountID: "ann")))
      try bench.equal(try await bench.loadAccount("ann")?.identities, [second])
      try bench.equal(
        try await bench.commit(.identity(.insert(bench.identity("2", of: "bob")))), .conflict(.identity))
      try await bench.prepare(.identity(.insert(bench.identity("1", of: "bob"))))
      try bench.equal(try await bench.loadAccount("bob")?.identities.map(\.key.subject), ["1"])
    },
    Promise("an identity, a factor or an unlink of an unknown account is stale") { bench in
      let unlink = UnlinkRecord(
        accountID: "ann", key: IdentityKey(providerID: "p", subject: "1"), at: Bench.noon)
      let factor = FactorRecord(id: "f", accountID: "ann", kind: .totp, enrolledAt: Bench.noon)
      try bench.equal(try await bench.commit(.identity(.insert(bench.identity("1", of: "ann")))), .stale)
      try bench.equal(try await bench.commit(.factor(.insert(factor))), .stale)
      try bench.equal(try await bench.commit(.unlink(.remember(unlink))), .stale)
    },
    Promise("an update of an identity keeps its account and its time") { bench in
      let linked = bench.identity("1", of: "ann", email: "old@example.com")
      try await bench.prepare(.account(.insert(bench.account("ann"))), .identity(.insert(linked)))
      var update = linked
      update.email = "new@example.com"
      update.tier = .authoritative
      update.displayName = "New"
      update.photoURL = "https://example.com/new.png"
      update.username = "new"
      update.linkedAt = Bench.noon.adding(millis: 1)
      try await bench.prepare(.identity(.update(update)))
      update.linkedAt = linked.linkedAt
      try bench.equal(try await bench.loadAccount("ann")?.identities, [update])
    },
    Promise("a passkey belongs to one account, is found by its id, and an update replaces its key") { bench in
      var passkey = bench.identity("1", of: "ann", provider: "passkey")
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))), .identity(.insert(passkey)))
      let other = Write.identity(.insert(bench.identity("1", of: "bob", provider: "passkey")))
      try bench.equal(try await bench.commit(other), .conflict(.identity))
      try bench.equal(try await bench.load { $0.identity = passkey.key }.identityOwner?.identities, [passkey])
      passkey.passkey = [UInt8](repeating: 7, count: 2_000)
      try await bench.prepare(.identity(.update(passkey)))
      try bench.equal(try await bench.loadAccount("ann")?.identities, [passkey])
    },
    Promise("a transfer identifier belongs to one identity of its provider, and is found by it") { bench in
      var (anns, bobs) = (bench.identity("1", of: "ann"), bench.identity("2", of: "bob"))
      anns.transferSubject = "t"
      let key = IdentityKey(providerID: anns.key.providerID, subject: "t")
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))), .identity(.insert(anns)),
        .identity(.insert(bobs)))
      try bench.equal(try await bench.load { $0.transfer = key }.transferOwner?.identities, [anns])
      bobs.transferSubject = "t"
      try bench.equal(try await bench.commit(.identity(.update(bobs))), .conflict(.identity))
      // Another provider has identifiers of its own.
      var other = bench.identity("3", of: "bob", provider: "oidc.corp")
      other.transferSubject = "t"
      try await bench.prepare(.identity(.insert(other)))
      // The sign-in that replaces the subject frees the identifier.
      try await bench.prepare(
        .identity(.delete(anns.key, accountID: "ann")), .identity(.insert(bench.identity("4", of: "ann"))))
      try bench.equal(try await bench.load { $0.transfer = key }.transferOwner, nil)
      try await bench.prepare(.identity(.update(bobs)))
      try bench.equal(try await bench.load { $0.transfer = key }.transferOwner?.account.id, "bob")
    },
    Promise("an update of an identity that was deleted, or is another account's, is stale") { bench in
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))),
        .identity(.insert(bench.identity("1", of: "ann"))))
      try bench.equal(try await bench.commit(.identity(.update(bench.identity("2", of: "ann")))), .stale)
      try bench.equal(try await bench.commit(.identity(.update(bench.identity("1", of: "bob")))), .stale)
    },
    Promise("a deleted identity is free, and only its account can delete it") { bench in
      let identity = bench.identity("1", of: "ann")
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))), .identity(.insert(identity)))
      try bench.equal(try await bench.commit(.identity(.delete(identity.key, accountID: "bob"))), .stale)
      try await bench.prepare(.identity(.delete(identity.key, accountID: "ann")))
      try bench.equal(try await bench.commit(.identity(.delete(identity.key, accountID: "ann"))), .stale)
      try bench.equal(try await bench.loadAccount("ann")?.identities, [])
      try await bench.prepare(.identity(.insert(bench.identity("1", of: "bob"))))
    },
    Promise("a linked address is found at tier verified and above, the oldest link first") { bench in
      let ann = bench.identity("1", of: "ann", email: "x@example.com", linkedAt: Bench.noon.adding(millis: 5))
      let bob = bench.identity("2", of: "bob", email: "x@example.com", tier: .authoritative)
      let cat = bench.identity(
        "3", of: "cat", email: "x@example.com", tier: .unverified, linkedAt: Bench.noon.adding(millis: -5))
      for (id, identity) in [("ann", ann), ("bob", bob), ("cat", cat)] {
        try await bench.prepare(.account(.insert(bench.account(id))), .identity(.insert(identity)))
      }
      try await bench.prepare(
        .identity(
          .insert(bench.identity("4", of: "bob", provider: "apple.com", linkedAt: Bench.noon.adding(millis: 9)))))
      try bench.equal(
        try await bench.loadMethods(linked: "x@example.com"),
        SignInMethodsRecord(providerIDs: ["google.com", "apple.com"]))
      try bench.equal(try await bench.load { $0.email = "x@example.com" }.emailOwner, nil)
    },
    Promise("the sign-in methods are those of the whole account, identities in the order they were linked") { bench in
      let account = bench.fullAccount("ann")
      try await bench.prepare(.account(.insert(account)))
      try bench.equal(
        try await bench.loadMethods(account.email), AccountState(account: account).methods)
      let late = bench.identity("1", of: "ann", provider: "a.example", linkedAt: Bench.noon.adding(millis: 5))
      let early = bench.identity("2", of: "ann", provider: "b.example")
      try await bench.prepare(.identity(.insert(late)), .identity(.insert(early)))
      try bench.equal(
        try await bench.loadMethods(account.email),
        AccountState(account: account, identities: [early, late]).methods)
    },
    Promise("the sign-in methods state whether a phone is the account's only second factor") { bench in
      var state = AccountState(account: bench.account("ann", email: "ann@example.com"))
      state.account.phoneNumber = "+4915112345678"
      try await bench.prepare(.account(.insert(state.account)))
      try await bench.prepare(.identity(.insert(bench.identity("1", of: "ann", provider: "a.example"))))
      state.identities = [bench.identity("1", of: "ann", provider: "a.example")]
      for (kind, isOnlyPhone) in [(.recoveryCode, false), (.phone, true), (.totp, false)] as [(FactorKind, Bool)] {
        let factor = FactorRecord(id: kind.rawValue, accountID: "ann", kind: kind, enrolledAt: Bench.noon)
        try await bench.prepare(.factor(.insert(factor)))
        state.factors.append(factor)
        let found = try await bench.loadMethods("ann@example.com")
        try bench.equal(found, state.methods)
        try bench.equal(found?.hasOnlyPhoneFactors, isOnlyPhone)
      }
      try await bench.prepare(.factor(.delete(id: FactorKind.totp.rawValue, accountID: "ann")))
      try bench.equal(try await bench.loadMethods("ann@example.com")?.hasOnlyPhoneFactors, true)
    },
    Promise("a linked address follows the tier and address last asserted") { bench in
      var identity = bench.identity("1", of: "ann", email: "x@example.com", tier: .unverified)
      try await bench.prepare(.account(.insert(bench.account("ann"))), .identity(.insert(identity)))
      identity.tier = .verified
      identity.email = "y@example.com"
      try await bench.prepare(.identity(.update(identity)))
      for (email, provider) in [("x@example.com", nil), ("y@example.com", "google.com")] {
        try bench.equal(try await bench.loadMethods(linked: email)?.providerIDs, provider.map { [$0] })
      }
    },
    Promise("a linked address is looked up only on request, and only if no account owns it") { bench in
      try await bench.prepare(
        .account(.insert(bench.account("ann"))),
        .identity(.insert(bench.identity("1", of: "ann", email: "x@example.com"))))
      try bench.equal(try await bench.loadMethods("x@example.com"), nil)
      try await bench.prepare(.account(.insert(bench.account("bob", email: "x@example.com"))))
      try bench.equal(try await bench.loadMethods(linked: "x@example.com"), SignInMethodsRecord())
    },
    Promise("an unlink is recorded once, with its last time, until it is deleted") { bench in
      let key = IdentityKey(providerID: "google.com", subject: "1")
      let first = UnlinkRecord(accountID: "ann", key: key, at: Bench.noon)
      let second = UnlinkRecord(accountID: "ann", key: key, at: Bench.noon.adding(millis: 1))
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .unlink(.remember(first)), .unlink(.remember(second)))
      try bench.equal(try await bench.loadAccount("ann")?.unlinks, [second])
      try await bench.prepare(.unlink(.forget(accountID: "ann", key)), .unlink(.forget(accountID: "ann", key)))
      try bench.equal(try await bench.loadAccount("ann")?.unlinks, [])
      try await bench.prepare(.unlink(.remember(first)))
      try bench.equal(try await bench.loadAccount("ann")?.unlinks, [first])
    },
    Promise("factors read back as they were written, in the order they were enrolled") { bench in
      let late = FactorRecord(
        id: "a", accountID: "ann", kind: .phone, displayName: "Phone", phoneNumber: "+491",
        enrolledAt: Bench.noon.adding(millis: 1))
      let early = FactorRecord(
        id: "b", accountID: "ann", kind: .recoveryCode, sealedSecret: [0, 255], enrolledAt: Bench.noon)
      try await bench.prepare(.account(.insert(bench.account("ann"))), .factor(.insert(late)), .factor(.insert(early)))
      try bench.equal(try await bench.loadAccount("ann")?.factors, [early, late])
    },
    Promise("an update of a factor replaces only its secret and its name") { bench in
      let factor = FactorRecord(
        id: "f", accountID: "ann", kind: .totp, displayName: "Old", sealedSecret: [1], enrolledAt: Bench.noon)
      try await bench.prepare(.account(.insert(bench.account("ann"))), .factor(.insert(factor)))
      var update = factor
      update.displayName = "New"
      update.sealedSecret = [2, 3]
      update.enrolledAt = Bench.noon.adding(millis: 1)
      try await bench.prepare(.factor(.update(update)))
      update.enrolledAt = factor.enrolledAt
      try bench.equal(try await bench.loadAccount("ann")?.factors, [update])
    },
    Promise("only its own account can update and delete a factor, and delete it once") { bench in
      let factor = FactorRecord(id: "f", accountID: "ann", kind: .totp, enrolledAt: Bench.noon)
      let other = FactorRecord(id: "g", accountID: "ann", kind: .phone, enrolledAt: Bench.noon)
      var bobs = factor
      bobs.accountID = "bob"
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))), .factor(.insert(factor)),
        .factor(.insert(other)))
      try bench.equal(try await bench.commit(.factor(.update(bobs))), .stale)
      try bench.equal(try await bench.commit(.factor(.delete(id: "f", accountID: "bob"))), .stale)
      try await bench.prepare(.factor(.delete(id: "f", accountID: "ann")))
      try bench.equal(try await bench.commit(.factor(.delete(id: "f", accountID: "ann"))), .stale)
      try bench.equal(try await bench.commit(.factor(.update(factor))), .stale)
      try bench.equal(try await bench.loadAccount("ann")?.factors, [other])
      try await bench.prepare(.factor(.delete(id: "g", accountID: "ann")))
      try bench.equal(try await bench.loadAccount("ann")?.factors, [])
    },
    Promise("a guard that an account has no factors sees earlier writes, and ignores other accounts") { bench in
      let factor = FactorRecord(id: "f", accountID: "ann", kind: .totp, enrolledAt: Bench.noon)
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))), .factor(.insert(factor)),
        .factor(.requireNone(accountID: "bob")))
      try bench.equal(try await bench.commit(.factor(.requireNone(accountID: "ann"))), .stale)
      try await bench.prepare(.factor(.delete(id: "f", accountID: "ann")), .factor(.requireNone(accountID: "ann")))
    },
  ]
}
