internal import Platform

/// Finds out who calls, before anything is queued for the store's writer.
///
/// A password that was verified lately and a token that was seen lately are known from memory; others take one read.
/// The transaction that does the work compares the caller with the stored account.
final class Authenticator: Sendable {
  private let store: MsgrStore
  private let passwords: PasswordVerifier
  private let tokens = RecentValues<TokenHash, BoundToken>(limit: 1 << 16)

  init(_ store: MsgrStore, _ passwords: PasswordVerifier) {
    self.store = store
    self.passwords = passwords
  }

  /// Does something for a caller, once it is known.
  ///
  /// - Parameter act: does it, in a transaction that confirms the caller; it is called again if the caller's password or token
  ///   has changed meanwhile.
  /// - Returns: the closure's result.
  /// - Throws: ``RequestRefusal``, or the closure's error.
  func perform<Value: Sendable>(
    as credentials: RequestCredentials, _ act: (Caller) async throws -> Value
  ) async throws -> Value {
    // Twice, if the password changes meanwhile.
    for _ in 0..<3 {
      let caller = try await identify(credentials)
      do {
        guard case .wallet(let name, let proof) = caller else { return try await act(caller) }
        return try await passwords.counting(name, from: proof.network) { try await act(caller) }
      } catch is OutdatedCaller { forget(caller) }
    }
    throw RequestRefusal.busy
  }

  private func identify(_ credentials: RequestCredentials) async throws -> Caller {
    switch credentials {
    case .password(let name, let password, let network, let device):
      let hash = try await passwords.verify(password, of: name, from: network, on: device)
      return .password(name, hash)
    case .wallet(let name, let proof): return .wallet(name, proof)
    case .token(let hash, let claimed):
      guard let token = try await boundToken(hash), claimed == nil || claimed == token.name else {
        throw RequestRefusal.forbidden
      }
      return .token(token)
    }
  }

  private func boundToken(_ hash: TokenHash) async throws -> BoundToken? {
    if let token = tokens.value(for: hash) { return token }
    guard let token = try await store.boundToken(hash) else { return nil }
    tokens.insert(token, for: hash)
    return token
  }

  private func forget(_ caller: Caller) {
    switch caller {
    case .password(let name, let hash): passwords.forget(name, hash)
    case .wallet: break
    case .token(let token): tokens.remove(token.hash)
    }
  }
}
