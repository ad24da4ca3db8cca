import API

/// Every message with every field set, and with every case of its oneof. A text is the name of its field; a number or a
/// count of seconds is its field number. So a test can check that each value is in its own field.
enum Samples {
  static let credential = Credential(kind: .password(passwordCredential))
  static let credentialProviderToken = Credential(kind: .providerToken(providerTokenCredential))
  static let credentialAuthorizationResponse = Credential(kind: .authorizationResponse(authorizationResponse))
  static let credentialPhoneCode = Credential(kind: .phoneCode(phoneCodeCredential))
  static let credentialEmailLink = Credential(kind: .emailLink(emailLinkCredential))
  static let credentialCustomToken = Credential(kind: .customToken(customTokenCredential))
  static let credentialAnonymous = Credential(kind: .anonymous(anonymousCredential))
  static let credentialPendingToken = Credential(kind: .pendingToken("pending_token"))
  static let passwordCredential = PasswordCredential(email: "email", password: "password")
  static let providerTokenCredential = ProviderTokenCredential(
    providerID: "provider_id", idToken: "id_token", accessToken: "access_token", tokenSecret: "token_secret",
    rawNonce: "raw_nonce")
  static let authorizationResponse = AuthorizationResponse(flowID: "flow_id", callbackURI: "callback_uri")
  static let phoneCodeCredential = PhoneCodeCredential(verificationID: "verification_id", code: "code")
  static let emailLinkCredential = EmailLinkCredential(email: "email", code: "code")
  static let customTokenCredential = CustomTokenCredential(token: "token")
  static let anonymousCredential = AnonymousCredential()
  static let clientContext = ClientContext(ipAddress: "ip_address", userAgent: "user_agent", deviceID: "device_id")
  static let session = Session(
    idToken: "id_token", idTokenExpiresAtMillis: 2000, refreshToken: "refresh_token", account: account,
    isNewAccount: true, additionalUserInfo: additionalUserInfo, providerCredential: providerCredential,
    revokedProviderIDs: ["revoked_provider_ids", "revoked_provider_ids"], sessionID: "session_id",
    refreshTokenExpiresAtMillis: 10000)
  static let additionalUserInfo = AdditionalUserInfo(
    providerID: "provider_id", username: "username", profileJSON: "profile_json")
  static let providerCredential = ProviderCredential(
    providerID: "provider_id", accessToken: "access_token", idToken: "id_token", secret: "secret",
    refreshToken: "refresh_token", expiresInMillis: 6000, grantedScopes: ["granted_scopes", "granted_scopes"])
  static let accountExists = AccountExists(
    email: "email", providerIDs: ["provider_ids", "provider_ids"],
    signInMethods: ["sign_in_methods", "sign_in_methods"], pendingToken: "pending_token",
    pendingExpiresAtMillis: 5000, providerCredential: providerCredential, additionalUserInfo: additionalUserInfo,
    reason: .subjectChanged, canClaimAddress: true)
  static let credentialInUse = CredentialInUse(
    email: "email", pendingToken: "pending_token", pendingExpiresAtMillis: 3000,
    providerCredential: providerCredential)
  static let secondFactorRequired = SecondFactorRequired(
    pendingToken: "pending_token", hints: [secondFactorHint, secondFactorHint], expiresAtMillis: 3000,
    providerCredential: providerCredential, additionalUserInfo: additionalUserInfo)
  static let account = Account(
    accountID: "account_id", email: "email", emailVerified: true, phoneNumber: "phone_number",
    displayName: "display_name", photoURL: "photo_url", anonymous: true, disabled: true, createdAtMillis: 9000,
    lastSignInAtMillis: 10000, providers: [linkedProvider, linkedProvider],
    secondFactors: [secondFactorHint, secondFactorHint], customClaimsJSON: "custom_claims_json")
  static let linkedProvider = LinkedProvider(
    providerID: "provider_id", subject: "subject", email: "email", displayName: "display_name", photoURL: "photo_url",
    phoneNumber: "phone_number", linkedAtMillis: 7000)
  static let secondFactorHint = SecondFactorHint(
    factorID: "factor_id", kind: .totp, displayName: "display_name", maskedPhoneNumber: "masked_phone_number",
    enrolledAtMillis: 5000)
  static let signInRequest = SignInRequest(
    credential: credential, pendingToken: "pending_token", existingOnly: true, idempotencyKey: "idempotency_key",
    client: clientContext, binding: "binding", claimAddress: true)
  static let signInResponse = SignInResponse(outcome: .session(session))
  static let signInResponseAccountExists = SignInResponse(outcome: .accountExists(accountExists))
  static let signInResponseSecondFactorRequired = SignInResponse(outcome: .secondFactorRequired(secondFactorRequired))
  static let reauthenticateRequest = ReauthenticateRequest(
    idToken: "id_token", credential: credential, client: clientContext, binding: "binding")
  static let reauthenticateResponse = ReauthenticateResponse(outcome: .session(session))
  static let reauthenticateResponseSecondFactorRequired = ReauthenticateResponse(
    outcome: .secondFactorRequired(secondFactorRequired))
  static let fetchProvidersRequest = FetchProvidersRequest(
    subject: .email("email"), client: clientContext, binding: "binding")
  static let fetchProvidersRequestPendingToken = FetchProvidersRequest(
    subject: .pendingToken("pending_token"), client: clientContext, binding: "binding")
  static let fetchProvidersResponse = FetchProvidersResponse(
    registered: true, providerIDs: ["provider_ids", "provider_ids"],
    signInMethods: ["sign_in_methods", "sign_in_methods"], pending: pendingCredential, methodsMailed: true)
  static let pendingCredential = PendingCredential(
    purpose: .link, providerID: "provider_id", email: "email", username: "username", displayName: "display_name",
    expiresAtMillis: 6000)
  static let linkRequest = LinkRequest(
    idToken: "id_token", credential: credential, idempotencyKey: "idempotency_key", client: clientContext,
    binding: "binding")
  static let linkResponse = LinkResponse(outcome: .session(session), alreadyLinked: true)
  static let linkResponseCredentialInUse = LinkResponse(outcome: .credentialInUse(credentialInUse), alreadyLinked: true)
  static let linkResponseSecondFactorRequired = LinkResponse(
    outcome: .secondFactorRequired(secondFactorRequired), alreadyLinked: true)
  static let unlinkRequest = UnlinkRequest(
    idToken: "id_token", providerID: "provider_id", idempotencyKey: "idempotency_key", client: clientContext)
  static let unlinkResponse = UnlinkResponse(session: session)
  static let createRequest = CreateRequest(
    email: "email", password: "password", displayName: "display_name", photoURL: "photo_url",
    idempotencyKey: "idempotency_key", client: clientContext, continueURI: "continue_uri", locale: "locale",
    code: "code")
  static let createResponse = CreateResponse(outcome: .session(session))
  static let createResponseVerificationSent = CreateResponse(outcome: .verificationSent(verificationSent))
  static let verificationSent = VerificationSent(expiresAtMillis: 1000)
  static let getRequest = GetRequest(idToken: "id_token")
  static let getResponse = GetResponse(account: account)
  static let deleteRequest = DeleteRequest(
    idToken: "id_token", idempotencyKey: "idempotency_key", client: clientContext)
  static let deleteResponse = DeleteResponse()
  static let fieldMask = FieldMask(paths: ["paths", "paths"])
  static let updateRequest = UpdateRequest(
    idToken: "id_token", account: account, updateMask: fieldMask, newPassword: "new_password",
    idempotencyKey: "idempotency_key", client: clientContext, continueURI: "continue_uri", locale: "locale")
  static let updateResponse = UpdateResponse(session: session)
  static let mergeKeep = MergeKeep(field: "field", fromAccountID: "from_account_id")
  static let mergeConflict = MergeConflict(
    field: "field", survivorValue: "survivor_value", otherValue: "other_value")
  static let mergeRequest = MergeRequest(
    survivorIDToken: "survivor_id_token", otherIDToken: "other_id_token", dryRun: true, keep: [mergeKeep, mergeKeep],
    idempotencyKey: "idempotency_key", client: clientContext)
  static let mergeResponse = MergeResponse(
    session: session, conflicts: [mergeConflict, mergeConflict],
    movedProviderIDs: ["moved_provider_ids", "moved_provider_ids"], closedAccountID: "closed_account_id")
  static let lookupRequest = LookupRequest(subject: .accountID("account_id"))
  static let lookupRequestEmail = LookupRequest(subject: .email("email"))
  static let lookupRequestPhoneNumber = LookupRequest(subject: .phoneNumber("phone_number"))
  static let lookupRequestIdentity = LookupRequest(subject: .identity(providerIdentity))
  static let providerIdentity = ProviderIdentity(providerID: "provider_id", subject: "subject")
  static let lookupResponse = LookupResponse(account: account)
  static let createCustomTokenRequest = CreateCustomTokenRequest(
    accountID: "account_id", claimsJSON: "claims_json", lifetimeMillis: 3000)
  static let createCustomTokenResponse = CreateCustomTokenResponse(customToken: "custom_token", expiresAtMillis: 2000)
  static let listRequest = ListRequest(pageToken: "page_token", pageSize: 2)
  static let listResponse = ListResponse(accounts: [account, account], nextPageToken: "next_page_token")
  static let setDisabledRequest = SetDisabledRequest(accountID: "account_id", disabled: true)
  static let setDisabledResponse = SetDisabledResponse(account: account)
  static let setCustomClaimsRequest = SetCustomClaimsRequest(accountID: "account_id", claimsJSON: "claims_json")
  static let setCustomClaimsResponse = SetCustomClaimsResponse(account: account)
  static let revokeSessionsRequest = RevokeSessionsRequest(accountID: "account_id")
  static let revokeSessionsResponse = RevokeSessionsResponse(closed: 1)
  static let deleteAccountRequest = DeleteAccountRequest(accountID: "account_id")
  static let deleteAccountResponse = DeleteAccountResponse()
  static let removeSecondFactorsRequest = RemoveSecondFactorsRequest(accountID: "account_id")
  static let removeSecondFactorsResponse = RemoveSecondFactorsResponse(account: account, removed: 2)
  static let unlinkProviderRequest = UnlinkProviderRequest(accountID: "account_id", providerID: "provider_id")
  static let unlinkProviderResponse = UnlinkProviderResponse(account: account)
  static let backupRequest = BackupRequest()
  static let backupResponse = BackupResponse(
    fileName: "file_name", sizeBytes: 2, sha256: Array("sha256".utf8), accounts: 4, eventCursor: "event_cursor",
    createdAtMillis: 6000)
  static let importAccountsRequest = ImportAccountsRequest(
    options: importOptions, accounts: [importedAccount, importedAccount])
  static let importOptions = ImportOptions(dryRun: true, hash: importHash)
  static let importHash = ImportHash(
    algorithm: .scrypt, key: Array("key".utf8), saltSeparator: Array("salt_separator".utf8), rounds: 4,
    memoryCost: 5, parallelization: 6, blockSize: 7, derivedKeyBytes: 8, inputOrder: .passwordFirst)
  static let importedAccount = ImportedAccount(
    accountID: "account_id", email: "email", emailVerified: true, displayName: "display_name", photoURL: "photo_url",
    phoneNumber: "phone_number", disabled: true, passwordHash: Array("password_hash".utf8), salt: Array("salt".utf8),
    createdAtMillis: 10000, lastSignInAtMillis: 11000, customClaimsJSON: "custom_claims_json",
    providers: [linkedProvider, linkedProvider], phoneFactors: [importedPhoneFactor, importedPhoneFactor])
  static let importedPhoneFactor = ImportedPhoneFactor(
    factorID: "factor_id", phoneNumber: "phone_number", displayName: "display_name", enrolledAtMillis: 4000)
  static let importAccountsResponse = ImportAccountsResponse(
    imported: 1, unchanged: 2, errors: [importError, importError], leftOut: [importError, importError])
  static let importError = ImportError(
    row: 1, accountID: "account_id", reason: .idempotencyKeyReused, field: "field", message: "message")
  static let exportAccountsRequest = ExportAccountsRequest(includeSecrets: true)
  static let exportAccountsResponse = ExportAccountsResponse(accounts: [exportedAccount, exportedAccount])
  static let exportedAccount = ExportedAccount(account: account, passwordHash: "password_hash")
  static let refreshRequest = RefreshRequest(
    refreshToken: "refresh_token", client: clientContext, idempotencyKey: "idempotency_key")
  static let refreshResponse = RefreshResponse(session: session)
  static let signOutRequest = SignOutRequest(idToken: "id_token", refreshToken: "refresh_token", client: clientContext)
  static let signOutResponse = SignOutResponse()
  static let revokeAllRequest = RevokeAllRequest(idToken: "id_token", client: clientContext)
  static let revokeAllResponse = RevokeAllResponse(closed: 1)
  static let listSessionsRequest = ListSessionsRequest(idToken: "id_token")
  static let listSessionsResponse = ListSessionsResponse(sessions: [sessionInfo, sessionInfo])
  static let sessionInfo = SessionInfo(
    sessionID: "session_id", signInProvider: "sign_in_provider", signedInAtMillis: 3000, lastUsedAtMillis: 4000,
    client: clientContext, current: true)
  static let verifyIdTokenRequest = VerifyIdTokenRequest(idToken: "id_token")
  static let verifyIdTokenResponse = VerifyIdTokenResponse(
    active: true, accountID: "account_id", claimsJSON: "claims_json", inactiveReason: .idempotencyKeyReused)
  static let watchEventsRequest = WatchEventsRequest(cursor: "cursor", types: [.accountCreated, .accountCreated])
  static let watchEventsResponse = WatchEventsResponse(cursor: "cursor", event: event)
  static let event = Event(
    eventID: "event_id", type: .accountCreated, occurredAtMillis: 3000, accountID: "account_id", caller: "caller",
    detailsJSON: "details_json")
  static let getSigningKeysRequest = GetSigningKeysRequest()
  static let getSigningKeysResponse = GetSigningKeysResponse(jwksJSON: "jwks_json")
  static let startFlowRequest = StartFlowRequest(
    providerID: "provider_id", redirectURI: "redirect_uri", scopes: ["scopes", "scopes"],
    customParameters: ["key": "value"], loginHint: "login_hint", purpose: .signIn, idToken: "id_token",
    client: clientContext, binding: "binding")
  static let startFlowResponse = StartFlowResponse(
    flowID: "flow_id", authorizationURL: "authorization_url", expiresAtMillis: 3000, responseMode: .query)
  static let listProvidersRequest = ListProvidersRequest()
  static let listProvidersResponse = ListProvidersResponse(
    providerIDs: ["provider_ids", "provider_ids"], flowProviderIDs: ["flow_provider_ids", "flow_provider_ids"])
  static let startSecondFactorRequest = StartSecondFactorRequest(
    pendingToken: "pending_token", factorID: "factor_id", client: clientContext, binding: "binding", locale: "locale")
  static let startSecondFactorResponse = StartSecondFactorResponse(
    verificationID: "verification_id", expiresAtMillis: 2000)
  static let finishSecondFactorRequest = FinishSecondFactorRequest(
    pendingToken: "pending_token", factorID: "factor_id", verificationID: "verification_id", code: "code",
    idempotencyKey: "idempotency_key", client: clientContext, binding: "binding")
  static let finishSecondFactorResponse = FinishSecondFactorResponse(outcome: .session(session), alreadyLinked: true)
  static let finishSecondFactorResponseAccountExists = FinishSecondFactorResponse(
    outcome: .accountExists(accountExists), alreadyLinked: true)
  static let finishSecondFactorResponseCredentialInUse = FinishSecondFactorResponse(
    outcome: .credentialInUse(credentialInUse), alreadyLinked: true)
  static let startEnrollmentRequest = StartEnrollmentRequest(
    idToken: "id_token", kind: .totp, phoneNumber: "phone_number", displayName: "display_name", client: clientContext,
    locale: "locale")
  static let startEnrollmentResponse = StartEnrollmentResponse(
    enrollmentID: "enrollment_id", totpSecret: "totp_secret", totpURI: "totp_uri", expiresAtMillis: 4000)
  static let finishEnrollmentRequest = FinishEnrollmentRequest(
    idToken: "id_token", enrollmentID: "enrollment_id", code: "code", client: clientContext,
    idempotencyKey: "idempotency_key")
  static let finishEnrollmentResponse = FinishEnrollmentResponse(
    session: session, recoveryCodes: ["recovery_codes", "recovery_codes"])
  static let withdrawRequest = WithdrawRequest(
    idToken: "id_token", factorID: "factor_id", client: clientContext, idempotencyKey: "idempotency_key")
  static let withdrawResponse = WithdrawResponse(session: session)
  static let sendPhoneCodeRequest = SendPhoneCodeRequest(
    phoneNumber: "phone_number", purpose: .link, idToken: "id_token", locale: "locale", client: clientContext,
    binding: "binding")
  static let sendPhoneCodeResponse = SendPhoneCodeResponse(verificationID: "verification_id", expiresAtMillis: 2000)
  static let sendEmailLinkRequest = SendEmailLinkRequest(
    email: "email", continueURI: "continue_uri", locale: "locale", client: clientContext, binding: "binding")
  static let sendEmailLinkResponse = SendEmailLinkResponse(expiresAtMillis: 1000)
  static let sendEmailVerificationRequest = SendEmailVerificationRequest(
    idToken: "id_token", continueURI: "continue_uri", locale: "locale", client: clientContext)
  static let sendEmailVerificationResponse = SendEmailVerificationResponse(expiresAtMillis: 1000)
  static let sendPasswordResetRequest = SendPasswordResetRequest(
    email: "email", continueURI: "continue_uri", locale: "locale", client: clientContext)
  static let sendPasswordResetResponse = SendPasswordResetResponse(expiresAtMillis: 1000)
  static let sendEmailChangeRequest = SendEmailChangeRequest(
    idToken: "id_token", newEmail: "new_email", continueURI: "continue_uri", locale: "locale", client: clientContext)
  static let sendEmailChangeResponse = SendEmailChangeResponse(expiresAtMillis: 1000)
  static let checkCodeRequest = CheckCodeRequest(code: "code")
  static let checkCodeResponse = CheckCodeResponse(mode: .signIn, email: "email", expiresAtMillis: 3000)
  static let confirmEmailRequest = ConfirmEmailRequest(
    code: "code", idToken: "id_token", client: clientContext, idempotencyKey: "idempotency_key")
  static let confirmEmailResponse = ConfirmEmailResponse(session: session, email: "email")
  static let resetPasswordRequest = ResetPasswordRequest(
    code: "code", newPassword: "new_password", client: clientContext, claimAddress: true,
    idempotencyKey: "idempotency_key")
  static let resetPasswordResponse = ResetPasswordResponse(
    email: "email", revokedProviderIDs: ["revoked_provider_ids", "revoked_provider_ids"], isNewAccount: true)
  static let healthCheckRequest = HealthCheckRequest(service: "service")
  static let healthCheckResponse = HealthCheckResponse(status: .serving)
  static let serverReflectionRequest = ServerReflectionRequest(
    host: "host", messageRequest: .fileByFilename("file_by_filename"))
  static let serverReflectionRequestFileContainingSymbol = ServerReflectionRequest(
    host: "host", messageRequest: .fileContainingSymbol("file_containing_symbol"))
  static let serverReflectionRequestFileContainingExtension = ServerReflectionRequest(
    host: "host", messageRequest: .fileContainingExtension(extensionRequest))
  static let serverReflectionRequestAllExtensionNumbersOfType = ServerReflectionRequest(
    host: "host", messageRequest: .allExtensionNumbersOfType("all_extension_numbers_of_type"))
  static let serverReflectionRequestListServices = ServerReflectionRequest(
    host: "host", messageRequest: .listServices("list_services"))
  static let extensionRequest = ExtensionRequest(containingType: "containing_type", extensionNumber: 2)
  static let serverReflectionResponse = ServerReflectionResponse(
    validHost: "valid_host", originalRequest: serverReflectionRequest,
    messageResponse: .fileDescriptorResponse(fileDescriptorResponse))
  static let serverReflectionResponseAllExtensionNumbersResponse = ServerReflectionResponse(
    validHost: "valid_host", originalRequest: serverReflectionRequest,
    messageResponse: .allExtensionNumbersResponse(extensionNumberResponse))
  static let serverReflectionResponseListServicesResponse = ServerReflectionResponse(
    validHost: "valid_host", originalRequest: serverReflectionRequest,
    messageResponse: .listServicesResponse(listServiceResponse))
  static let serverReflectionResponseErrorResponse = ServerReflectionResponse(
    validHost: "valid_host", originalRequest: serverReflectionRequest, messageResponse: .errorResponse(errorResponse))
  static let fileDescriptorResponse = FileDescriptorResponse(
    fileDescriptorProto: [Array("file_descriptor_proto".utf8), Array("file_descriptor_proto".utf8)])
  static let extensionNumberResponse = ExtensionNumberResponse(baseTypeName: "base_type_name", extensionNumber: [2, 2])
  static let listServiceResponse = ListServiceResponse(service: [serviceResponse, serviceResponse])
  static let serviceResponse = ServiceResponse(name: "name")
  static let errorResponse = ErrorResponse(errorCode: 1, errorMessage: "error_message")
  static let status = Status(code: 1, message: "message", details: [anyMessage, anyMessage])
  static let anyMessage = AnyMessage(typeURL: "type_url", value: Array("value".utf8))
  static let errorInfo = ErrorInfo(reason: "reason", domain: "domain", metadata: ["key": "value"])
  static let retryInfo = RetryInfo(retryDelayMillis: 1000)
  static let badRequest = BadRequest(fieldViolations: [badRequestFieldViolation, badRequestFieldViolation])
  static let badRequestFieldViolation = BadRequest.FieldViolation(field: "field", description: "description")

  static let all: [any Message] = [
    credential, credentialProviderToken, credentialAuthorizationResponse, credentialPhoneCode, credentialEmailLink,
    credentialCustomToken, credentialAnonymous, credentialPendingToken, passwordCredential, providerTokenCredential,
    authorizationResponse, phoneCodeCredential, emailLinkCredential, customTokenCredential, anonymousCredential,
    clientContext, session, additionalUserInfo, providerCredential, accountExists, credentialInUse,
    secondFactorRequired, account, linkedProvider, secondFactorHint, signInRequest, signInResponse,
    signInResponseAccountExists, signInResponseSecondFactorRequired, reauthenticateRequest, reauthenticateResponse,
    reauthenticateResponseSecondFactorRequired, fetchProvidersRequest, fetchProvidersRequestPendingToken,
    fetchProvidersResponse, pendingCredential, linkRequest, linkResponse, linkResponseCredentialInUse,
    linkResponseSecondFactorRequired, unlinkRequest, unlinkResponse, createRequest, createResponse,
    createResponseVerificationSent, verificationSent, getRequest, getResponse, deleteRequest, deleteResponse,
    lookupRequest, lookupRequestEmail, lookupRequestPhoneNumber, lookupRequestIdentity, providerIdentity,
    watchEventsRequest, watchEventsResponse, event,
    lookupResponse, createCustomTokenRequest, createCustomTokenResponse, refreshRequest, refreshResponse,
    revokeAllRequest, revokeAllResponse, listSessionsRequest, listSessionsResponse, sessionInfo,
    signOutRequest, signOutResponse, verifyIdTokenRequest, verifyIdTokenResponse, getSigningKeysRequest,
    getSigningKeysResponse, startFlowRequest, startFlowResponse, listProvidersRequest, listProvidersResponse,
    sendPhoneCodeRequest, sendPhoneCodeResponse, sendEmailLinkRequest, sendEmailLinkResponse,
    sendEmailVerificationRequest, sendEmailVerificationResponse, sendPasswordResetRequest, sendPasswordResetResponse,
    sendEmailChangeRequest, sendEmailChangeResponse, checkCodeRequest, checkCodeResponse, confirmEmailRequest,
    confirmEmailResponse, resetPasswordRequest, resetPasswordResponse,
    healthCheckRequest, healthCheckResponse, serverReflectionRequest,
    serverReflectionRequestFileContainingSymbol, serverReflectionRequestFileContainingExtension,
    serverReflectionRequestAllExtensionNumbersOfType, serverReflectionRequestListServices, extensionRequest,
    serverReflectionResponse, serverReflectionResponseAllExtensionNumbersResponse,
    serverReflectionResponseListServicesResponse, serverReflectionResponseErrorResponse, fileDescriptorResponse,
    extensionNumberResponse, listServiceResponse, serviceResponse, errorResponse, status, anyMessage, errorInfo,
    retryInfo, badRequest, badRequestFieldViolation,
    startSecondFactorRequest, startSecondFactorResponse, finishSecondFactorRequest, finishSecondFactorResponse,
    finishSecondFactorResponseAccountExists, finishSecondFactorResponseCredentialInUse, startEnrollmentRequest,
    startEnrollmentResponse, finishEnrollmentRequest, finishEnrollmentResponse, withdrawRequest, withdrawResponse,
    fieldMask, updateRequest, updateResponse, mergeKeep, mergeConflict, mergeRequest, mergeResponse,
    listRequest, listResponse, setDisabledRequest, setDisabledResponse, setCustomClaimsRequest,
    setCustomClaimsResponse, revokeSessionsRequest, revokeSessionsResponse, deleteAccountRequest,
    deleteAccountResponse, removeSecondFactorsRequest, removeSecondFactorsResponse, unlinkProviderRequest,
    unlinkProviderResponse, importAccountsRequest, importOptions, importHash, importedAccount, importedPhoneFactor,
    importAccountsResponse, importError, exportAccountsRequest, exportAccountsResponse, exportedAccount, backupRequest,
    backupResponse,
  ]
}
