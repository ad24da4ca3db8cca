internal import API
internal import Identity
internal import Store

extension AdminService {
  /// The time limit of GetMasterKeyStatus, long enough to read a large database.
  static let masterKeyStatusMillisMax: Int64 = 600_000

  var getMasterKeyStatus: Method {
    .unary(
      AdminRPC.getMasterKeyStatus, timeLimitMillis: AdminService.masterKeyStatusMillisMax, isLookUp: true
    ) { [shared] _, _, _, _ in
      let inspect = InspectMasterKeys(shared.environment)
      return .task { GetMasterKeyStatusResponse(keys: try await inspect().map(MasterKeyUse.init)) }
    }
  }
}

extension MasterKeyUse {
  fileprivate init(_ status: MasterKeyStatus) {
    self.init(
      id: status.id.text, state: MasterKeyState(status.state),
      sealedRows: SealedTable.allCases.compactMap { table in
        status.rows[table].map { SealedRows(table: table.rawValue, rows: Int64($0)) }
      },
      refreshTokens: Int64(status.refreshTokens), neededUntilMillis: status.neededUntil?.millis,
      knownAtMillis: status.record?.knownAt.millis, seenAtMillis: status.record?.seenAt.millis,
      sealedAtMillis: status.record?.sealedAt?.millis)
  }
}
