internal import Formats
internal import Ethereum

extension MessageService {
  /// Logs in the user whose wallet has signed, or makes an account by the rules of registrations.
  ///
  /// - Parameters:
  ///   - proof: the wallet.
  ///   - newName: reads the name of a new account; asked only for one.
  ///   - device: the device.
  ///   - invitation: an invitation, which counts only if one is needed.
  ///   - network: the client's network.
  func login(
    _ proof: WalletProof, newName: () throws -> UserName, _ device: DeviceLogin,
    invitation: InvitationHash?, from network: ClientNetwork?
  ) async throws -> (BearerToken, UserName) {
    let token = BearerToken(randomBytes(32))
    var name: UserName?
    if try await store.owner(of: proof) == nil {
      name = try newName()
      guard signup != .closed else { throw RequestRefusal.noSignup }
      guard signup == .open || invitation != nil else { throw RequestRefusal.badInvitation }
      try registrations.begin(in: network)
    }
    do {
      let login = try await store.login(
        proof, orAs: name, invitation: signup == .invite ? invitation : nil,
        device: (device, token.hash))
      end(login.ended)
      return (token, login.name)
    } catch {
      guard let name else { throw error }
      refusals.note(error, .registration, of: name, from: network)
      // Nobody learns more of the taken names than the network makes accounts.
      if error as? RequestRefusal != .forbidden { registrations.takeBack(in: network) }
      throw error
    }
  }

  /// Returns the user of an address.
  func find(_ address: EthereumAddress, by credentials: Credentials) async throws -> UserName {
    try await authenticator.perform(as: credentials) { caller in
      try await countingRefusals(of: caller) { try await store.find(address, by: caller) }
    }
  }
}
