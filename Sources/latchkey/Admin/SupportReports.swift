import API
import Encodings
import Tokens

// Lines and JSON of what AdminService reports about a user.

private func joined(_ parts: [String]) -> String { parts.filter { !$0.isEmpty }.map(printable).joined(separator: "  ") }

extension AccountEvent {
  var line: String {
    switch kind {
    case .event(let event):
      joined([
        event.occurredAtMillis.map(rfc3339) ?? "-", event.type?.word ?? "unknown type", "by " + event.caller,
        event.detailsJSON,
      ])
    case .failures(let failures): failures.line
    case nil: "unknown kind of event"
    }
  }

  var json: JSONValue {
    switch kind {
    case .event(let event):
      .object([
        JSONMember("kind", .string("event")), JSONMember("event_id", .string(event.eventID)),
        JSONMember("type", .word(event.type)), JSONMember("occurred_at", .moment(event.occurredAtMillis)),
        JSONMember("caller", .string(event.caller)), JSONMember("details_json", .string(event.detailsJSON)),
      ])
    case .failures(let failures): failures.json
    case nil: .null
    }
  }
}

extension FailedAttempts {
  var line: String {
    joined([
      lastAtMillis.map(rfc3339) ?? "-", "FAILED", reason?.word ?? "unknown reason", count > 1 ? "\(count) times" : "",
      call, signInMethod, limit, caller.isEmpty ? "" : "by " + caller, network.isEmpty ? "" : "from " + network,
      deviceDigest.isEmpty ? "" : "device " + deviceDigest,
    ])
  }

  var json: JSONValue {
    .object([
      JSONMember("kind", .string("failures")), JSONMember("reason", .word(reason)),
      JSONMember("count", .int(Int64(count))), JSONMember("first_at", .moment(firstAtMillis)),
      JSONMember("last_at", .moment(lastAtMillis)), JSONMember("call", .string(call)),
      JSONMember("sign_in_method", .string(signInMethod)), JSONMember("limit", .string(limit)),
      JSONMember("caller", .string(caller)), JSONMember("network", .string(network)),
      JSONMember("device_digest", .string(deviceDigest)),
    ])
  }
}

extension UserBlock {
  var line: String { joined([limit, "until " + (untilMillis.map(rfc3339) ?? "-")]) }

  var json: JSONValue {
    .object([JSONMember("limit", .string(limit)), JSONMember("until", .moment(untilMillis))])
  }
}

extension AccountMessage {
  var line: String {
    let fate =
      switch state {
      case .waiting: "waiting until " + (nextAttemptAtMillis.map(rfc3339) ?? "-")
      case .sent: "sent at " + (settledAtMillis.map(rfc3339) ?? "-")
      case .givenUp: "given up at " + (settledAtMillis.map(rfc3339) ?? "-")
      case .unspecified, nil: "in an unknown state"
      }
    return joined([
      createdAtMillis.map(rfc3339) ?? "-", kind, maskedRecipient, fate, error, "attempts \(attempts)",
      "id " + messageID,
    ])
  }

  var json: JSONValue {
    .object([
      JSONMember("message_id", .string(messageID)), JSONMember("kind", .string(kind)),
      JSONMember("channel", .string(channel)), JSONMember("masked_recipient", .string(maskedRecipient)),
      JSONMember("state", .lowercaseWord(state)), JSONMember("created_at", .moment(createdAtMillis)),
      JSONMember("attempts", .int(Int64(attempts))), JSONMember("next_attempt_at", .moment(nextAttemptAtMillis)),
      JSONMember("settled_at", .moment(settledAtMillis)), JSONMember("error", .string(error)),
      JSONMember("can_resend", .bool(canResend)),
    ])
  }
}

extension OpenPending {
  var line: String {
    joined([
      createdAtMillis.map(rfc3339) ?? "-", purpose, providerID, "by " + caller,
      "until " + (expiresAtMillis.map(rfc3339) ?? "-"),
    ])
  }

  var json: JSONValue {
    .object([
      JSONMember("purpose", .string(purpose)), JSONMember("provider_id", .string(providerID)),
      JSONMember("caller", .string(caller)), JSONMember("created_at", .moment(createdAtMillis)),
      JSONMember("expires_at", .moment(expiresAtMillis)), JSONMember("attempts_left", .int(Int64(attemptsLeft))),
    ])
  }
}

extension AccountSession {
  var line: String {
    let client = client ?? ClientContext()
    return joined([
      signedInAtMillis.map(rfc3339) ?? "-", signInProvider, secondFactor, "by " + caller,
      endedAtMillis.map { "ended \(rfc3339($0)) (\(endReason))" } ?? "used " + (lastUsedAtMillis.map(rfc3339) ?? "-"),
      client.ipAddress, client.userAgent, client.deviceID, "id " + sessionID,
    ])
  }

  var json: JSONValue {
    let client = client ?? ClientContext()
    return .object([
      JSONMember("session_id", .string(sessionID)), JSONMember("caller", .string(caller)),
      JSONMember("sign_in_provider", .string(signInProvider)), JSONMember("second_factor", .string(secondFactor)),
      JSONMember("signed_in_at", .moment(signedInAtMillis)), JSONMember("last_used_at", .moment(lastUsedAtMillis)),
      JSONMember("expires_at", .moment(expiresAtMillis)), JSONMember("ended_at", .moment(endedAtMillis)),
      JSONMember("end_reason", .string(endReason)), JSONMember("ip_address", .string(client.ipAddress)),
      JSONMember("user_agent", .string(client.userAgent)), JSONMember("device_id", .string(client.deviceID)),
    ])
  }
}

extension RemovedAccount {
  var json: JSONValue {
    .object([JSONMember("removed_at", .moment(removedAtMillis)), JSONMember("merged_into", .string(mergedInto))])
  }
}
