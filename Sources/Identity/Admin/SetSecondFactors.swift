package import Store

/// Replaces the second factors of an account, at an administrator's request.
package struct SetSecondFactors: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the account after the change.
  package func callAsFunction(
    accountID: String, _ settings: [FactorSetting], _ call: CallFacts
  ) async throws -> AccountState {
    var query = Query()
    query.accountID = accountID
    return try await environment.administer(query, call) { state, _, now in
      do throws(Failure) {
        let outcome = try decision(at: now).decide(settings, state)
        guard outcome.isChanged else { return .unchanged }
        return .change(
          state: outcome.edit.state, writes: outcome.edit.writes + endings(outcome, now) + notices(outcome, state, now),
          notes: outcome.notes)
      } catch {
        return .refuse(error)
      }
    }.state
  }

  private func decision(at now: Timestamp) -> FactorSettings {
    FactorSettings(
      policy: environment.policy, now: now, newID: { environment.ids.factor() },
      hasSecret: { factor, secret in
        guard case .totp(let own, _) = environment.secret(of: factor) else { return false }
        return environment.cryptography.equal(own, secret)
      },
      seal: { environment.seal(.totp(secret: $0, lastStep: nil), of: $1) })
  }

  /// Ends what did not pass the factors that the account has now, and what passed factors that it no longer has.
  private func endings(_ outcome: FactorSettings.Outcome, _ now: Timestamp) -> [Write] {
    guard !outcome.added.isEmpty || !outcome.removed.isEmpty else { return [] }
    let id = outcome.edit.before.id
    let reason = outcome.added.isEmpty ? SessionClosedReason.factorsRemoved : .factorEnrolled
    return [
      .session(.closeAll(accountID: id, except: nil, at: now, reason: reason)),
      .pending(.deleteAll(accountID: id, sparing: [.revertEmail])),
    ]
  }

  /// Returns one notice for each factor. The notices do not mention recovery codes.
  private func notices(_ outcome: FactorSettings.Outcome, _ state: AccountState, _ now: Timestamp) -> [Write] {
    func notices(_ kind: OutgoingMessage.Kind, _ factors: [FactorRecord]) -> [Write] {
      factors.filter { $0.kind != .recoveryCode }.flatMap { factor in
        environment.notices(kind, to: state, values: ["factor": factor.kind.rawValue], now: now)
      }
    }
    return notices(.factorWithdrawn, outcome.removed) + notices(.factorEnrolled, outcome.added)
  }
}

extension FactorSettings.Outcome {
  fileprivate var notes: [AuditNote] {
    func note(_ event: AuditEvent, _ factor: FactorRecord) -> AuditNote {
      var details = AdminDecision.byAdministrator
      details["kind"] = factor.kind.rawValue
      details["factor_id"] = factor.id
      return AuditNote(event, accountID: edit.before.id, details: details)
    }
    return removed.map { note(.factorWithdrawn, $0) } + added.map { note(.factorEnrolled, $0) }
  }
}
