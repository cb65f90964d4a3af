internal import HTTPClient
internal import HTTPProtocol
package import Formats

/// Checks the signatures of Ethereum accounts: of keys without a chain, of contracts by one call at the chain's endpoint.
package struct AccountChecker: Sendable {
  /// A verdict on a signature.
  package enum Verdict: Hashable, Sendable {
    /// The account's own key has signed.
    case key
    /// The account's contract says that the signature is good.
    case contract
    /// The signature is wrong, or there is no endpoint to be asked.
    case wrong
    /// The endpoint fails or is not reached in time, for a reason in words.
    case unknown(String)
    /// The endpoint may not be asked.
    case tooMany
  }

  /// The endpoints.
  package let endpoints: [ChainID: ChainEndpoint]
  /// Nil without an endpoint.
  private let client: WebClient?
  /// A site whose contracts are slow has one call under way and delays nobody else's.
  private let turns = CallTurns(width: 8, widthOfSite: 2, queueLimit: 64)

  /// The time for a contract's answer, from the request on.
  private static let answerTime = Duration.seconds(10)

  /// Makes a checker that may ask some endpoints.
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
  ///   - mayAsk: says whether the endpoint may be asked; asked only then.
  package func evaluate(
    _ signature: [UInt8], of hash: [UInt8], by address: EthereumAddress, on chain: ChainID,
    from network: ClientNetwork? = nil, mayAsk: @Sendable () -> Bool
  ) async -> Verdict {
    let deadline = ContinuousClock.now + Self.answerTime
    // A key that gives this very address is the account's, whatever a contract says.
    if WalletSignature.signer(of: hash, signature) == address { return .key }
    guard endpoints[chain] != nil else { return .wrong }
    guard mayAsk() else { return .tooMany }
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
      return (isUndeployed ? data.isValidation : data.isGoodSignature) ? .contract : .wrong
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
