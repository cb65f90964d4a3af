package import Formats

internal import CSecp256k1
internal import Cryptography
internal import HTTPClient
internal import HTTPProtocol

/// Checks the signatures of Ethereum accounts: of keys without a chain, of contracts by one call at the chain's endpoint.
package struct AccountChecker: Sendable {
  /// The outcome of a check.
  package enum Outcome: Hashable, Sendable {
    /// The account's own key has signed.
    case key
    /// The account's contract confirms the signature.
    case contract
    /// The signature is wrong, or the chain has no endpoint.
    case wrong
    /// The endpoint fails or is not reached in time, for a reason in words.
    case unknown(String)
    /// The client may make no more requests to the endpoint.
    case tooMany
  }

  /// The endpoints.
  package let endpoints: [ChainID: ChainEndpoint]
  /// Nil without an endpoint.
  private let client: WebClient?
  /// A site whose contracts are slow delays nobody else's calls.
  private let turns = CallTurns(width: 8, widthOfSite: 2, queueLimit: 64)

  /// The time for a contract's answer, from the request on.
  private static let answerTime = Duration.seconds(10)

  /// Makes a checker of accounts on the endpoints' chains.
  ///
  /// - Throws: ``HTTPClientError`` if there is no room for connections.
  package init(_ endpoints: [ChainID: ChainEndpoint]) throws {
    self.endpoints = endpoints
    var options = HTTPClientOptions()
    options.bodyLimit = 256 << 10
    options.timeout = .seconds(10)
    client = endpoints.isEmpty ? nil : try WebClient(options)
  }

  /// Checks a signature.
  ///
  /// - Parameters:
  ///   - hash: the 32 bytes that were signed.
  ///   - mayQuery: returns whether the client may make a request to the endpoint; called only if one is needed.
  package func evaluate(
    _ signature: [UInt8], of hash: [UInt8], by address: EthereumAddress, on chain: ChainID,
    from network: ClientNetwork? = nil, mayQuery: @Sendable () -> Bool
  ) async -> Outcome {
    let deadline = ContinuousClock.now + Self.answerTime
    // A signature by the key of this very address is valid, whether or not there is a contract.
    if WalletSignature.signer(of: hash, signature) == address { return .key }
    guard endpoints[chain] != nil else { return .wrong }
    guard mayQuery() else { return .tooMany }
    let isUndeployed = signature.suffix(32).elementsEqual(FunctionCall.undeployedMark)
    let call =
      isUndeployed
      ? CallBatch(.validation(by: address, hash, signature), to: nil)
      : CallBatch(.isValidSignature(hash, signature), to: address)
    let answered = await turns.run(for: network?.siteKey, until: deadline) {
      await within(deadline - .now) { await outcomes(of: call, on: chain) }
    }
    guard let answered else { return .unknown("too many others wait for the endpoint") }
    switch answered.first {
    case .returned(let data)?:
      let isValid = isUndeployed ? data.isValidation : data.isGoodSignature
      return isValid ? .contract : .wrong
    case .none?, nil: return .wrong
    case .failed(let reason)?: return .unknown(reason)
    }
  }

  /// Makes calls at a chain's endpoint.
  ///
  /// - Returns: an outcome for each; all have failed if the endpoint has, or there is none.
  package func outcomes(of batch: CallBatch, on chain: ChainID) async -> [CallBatch.Outcome] {
    guard let client, let endpoint = endpoints[chain] else { return batch.failed("no endpoint") }
    do throws(HTTPClientError) {
      let response = try await client.send(OutgoingRequest(endpoint.url, json: batch.body))
      guard response.status == .ok else {
        return batch.failed("it answers \(response.status.code)")
      }
      return batch.outcomes(in: response.body)
    } catch {
      // A contract may return more than is read.
      return batch.failed("\(error.code)", isContracts: error.code == .tooLarge)
    }
  }
}

/// A wallet's signature of a personal message (EIP-191, version 0x45): R and S on secp256k1, 32 bytes each, and a byte that
/// identifies the one of the possible keys that has signed.
public enum WalletSignature {
  /// The number of bytes of a signature.
  public static let length = 65

  /// Hashes a personal message.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    Keccak256.hash(Array("\u{19}Ethereum Signed Message:\n\(message.count)".utf8) + message).bytes
  }

  /// Recovers the address whose key has signed.
  ///
  /// - Parameters:
  ///   - signature: the signature, whose last byte is 27, 28, 0 or 1.
  /// - Returns: nil if this is a signature of no key.
  public static func signer(of hash: [UInt8], _ signature: [UInt8]) -> EthereumAddress? {
    guard signature.count == length, hash.count == 32, let last = signature.last,
      [0, 1, 27, 28].contains(last)
    else { return nil }
    var point = [UInt8](repeating: 0, count: 65)
    guard unsafe csecp256k1_recover(&point, signature, CInt(last % 27), hash) == 1 else {
      return nil
    }
    return EthereumAddress(publicKey: point)
  }

  /// Signs the hash of a message.
  ///
  /// - Parameters:
  ///   - hash: 32 bytes.
  ///   - secret: the key's number, 32 bytes big-endian.
  /// - Returns: nil if the number is no key's.
  public static func sign(_ hash: [UInt8], with secret: [UInt8]) -> [UInt8]? {
    var signature = [UInt8](repeating: 0, count: length)
    guard hash.count == 32, secret.count == 32,
      unsafe csecp256k1_sign(&signature, hash, secret) == 1
    else { return nil }
    return signature
  }

  /// Returns whether 32 bytes are the number of a key: neither zero, nor the curve's order or above.
  public static func isSecret(_ secret: [UInt8]) -> Bool {
    // Nothing is signed with any other number.
    sign([UInt8](repeating: 1, count: 32), with: secret) != nil
  }
}
