internal import Ethereum
internal import Platform
internal import Routing

// Requests of users who have wallets; only below `/msgr`.
extension MsgrRoutes {
  /// Registers the requests, if there are logins by wallets.
  func registerWallets(on router: inout Router) {
    guard let logins = service.wallets else { return }
    registerJSON("/wallet-challenge", in: [Self.prefix], on: &router) { request, _ in
      let fields = try FieldRequest(request).fields
      let address = try Self.address(fields, .address)
      let chain = try Self.chain(fields, logins)
      let (message, end) = logins.challenge(for: address, on: chain)
      return try JSONText.of(["Message": message, "Expires": end.description])
    }
    registerJSON("/wallet-login", in: [Self.prefix], on: &router) { request, _ in
      let call = try FieldRequest(request)
      let login = try device(of: call)
      let (token, name) = try await counting(logins, call) { proof in
        try await service.login(
          proof,
          newName: { try UserName(ofNewAccount: try call.fields.text(.username), in: .username) },
          login, invitation: try call.invitation(), from: call.network)
      }
      return try JSONText.of(["Token": token.text, "Username": name.text])
    }
    registerFields("/wallet", in: [Self.prefix], on: &router) { call in
      let credentials = try call.credentials()
      let removed = call.fields.has(.remove) ? try Self.address(call.fields, .remove) : nil
      func wallets(binding proof: WalletProof?) async throws -> [String] {
        try await service.authenticator.perform(as: credentials) {
          try await service.store.wallets(of: $0, binding: proof, unbinding: removed)
        }
      }
      guard call.fields.has(.message) else { return ["Wallets": try await wallets(binding: nil)] }
      return ["Wallets": try await counting(logins, call, wallets)]
    }
    registerFields("/find", in: [Self.prefix], on: &router) { call in
      let address = try Self.address(call.fields, .address)
      let chain = try Self.chain(call.fields, logins)
      let user = try await service.find(address, on: chain, by: try call.credentials())
      return ["Username": user.text]
    }
  }

  /// Returns what a caller gives beside a token: the password, or of an account without one a wallet's signature.
  func secret(_ call: FieldRequest) async throws -> @Sendable (UserName) -> Credentials {
    if let logins = service.wallets, !call.fields.has(.password), call.fields.has(.signature) {
      let proof = try await counting(logins, call) { $0 }
      return { .wallet($0, proof) }
    }
    let password = try call.fields.password()
    return { .password($0, password, from: call.network) }
  }

  /// Does something by a wallet's signature. What is forbidden counts as a failed login.
  private func counting<Value>(
    _ logins: WalletLogins, _ call: FieldRequest, _ act: (WalletProof) async throws -> Value
  ) async throws -> Value {
    let message = try call.fields.text(.message)
    let signature = try call.fields.text(.signature)
    return try await service.passwords.counting(Self.name(of: message), from: call.network) {
      try await act(try await logins.proof(message, signature, from: call.network))
    }
  }

  /// Returns a name that no account has, for a failed login by a message.
  private static func name(of message: String) -> UserName {
    let address = (try? SignInMessage(parsing: Array(message.utf8)))?.address.lowercase
    return UserName(stored: "wallet/\(address ?? "")")
  }

  /// Returns the chain that a request names, or else the first one of the service.
  private static func chain(
    _ fields: FieldValues, _ logins: WalletLogins
  ) throws(FieldError) -> ChainID {
    let number = try fields.number(.chain, in: 1...Int.max)
    let chain = number.map { ChainID(Int64($0)) } ?? logins.rules.chains.first
    guard let chain, logins.rules.chains.contains(chain) else {
      throw FieldError(.chain, "is none of the chains of this service")
    }
    return chain
  }

  private static func address(
    _ fields: FieldValues, _ field: FieldID
  ) throws(FieldError) -> EthereumAddress {
    if let address = EthereumAddress(try fields.text(field)) { return address }
    throw FieldError(field, "is no address: 0x and 40 hexadecimal digits")
  }
}
