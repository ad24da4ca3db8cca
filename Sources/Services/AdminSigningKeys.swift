internal import API
internal import Identity
internal import Store

extension AdminService {
  var listSigningKeys: Method {
    .unary(AdminRPC.listSigningKeys, isLookUp: true) { [signingKeys] _, _, _, _ in
      .task { ListSigningKeysResponse(keys: try await signingKeys.list().map(SigningKeyInfo.init)) }
    }
  }

  var rotateSigningKeys: Method {
    .unary(AdminRPC.rotateSigningKeys) { [shared, signingKeys] _, message, context, _ in
      let call = try shared.facts(context, message)
      return .task {
        let rotated = try await signingKeys.rotate(call)
        return RotateSigningKeysResponse(
          keys: rotated.keys.map(SigningKeyInfo.init), newKeyID: rotated.newKeyID ?? "")
      }
    }
  }

  var revokeSigningKey: Method {
    .unary(AdminRPC.revokeSigningKey) { [shared, signingKeys] request, message, context, _ in
      let call = try shared.facts(context, message)
      let keyID = try Shape.required(request.keyID, "key_id", bytesMax: Shape.signingKeyIDBytesMax)
      return .task {
        let revoked = try await signingKeys.revoke(keyID: keyID, call)
        return RevokeSigningKeyResponse(
          keys: revoked.keys.map(SigningKeyInfo.init), successorKeyID: revoked.successorKeyID ?? "",
          serversRejectAtMillis: revoked.serversRejectAt.millis,
          verifiersRejectAtMillis: revoked.verifiersRejectAt.millis)
      }
    }
  }
}

extension SigningKeyInfo {
  fileprivate init(_ key: SigningKeyStatus) {
    self.init(
      keyID: key.keyID, algorithm: key.algorithm, state: SigningKeyState(key.state),
      publishedAtMillis: key.publishedAt.millis, activeFromMillis: key.activeFrom.millis,
      retiredAtMillis: key.retiredAt?.millis, ageMillis: key.ageMillis)
  }
}
