internal import Cryptography
internal import FoundationEssentials

/// A batch of JSON-RPC requests `eth_call` at the latest block, and its responses.
public struct CallBatch: Sendable {
  /// The response to one call.
  public enum Outcome: Hashable, Sendable {
    /// The function has returned data.
    case returned(ReturnData)
    /// There is no such function or contract, or it has reverted.
    case none
    /// The endpoint has failed, so that nothing is known.
    case failed(String)
  }

  private let calls: [(contract: EthereumAddress?, call: FunctionCall)]
  /// True for one request that isn't in an array.
  private let isSingle: Bool

  /// Makes a batch.
  ///
  /// - Parameter calls: the calls, with the contracts that they are made to.
  public init(_ calls: [(contract: EthereumAddress, call: FunctionCall)]) {
    self.calls = calls
    isSingle = false
  }

  /// Makes a request that is no batch, of one call.
  ///
  /// - Parameters:
  ///   - contract: the contract that it is made to, or nil for the creation of one.
  public init(_ call: FunctionCall, to contract: EthereumAddress?) {
    calls = [(contract, call)]
    isSingle = true
  }

  /// The body of the HTTP request.
  public var body: [UInt8] {
    // Nothing but digits, so that no text needs to be escaped.
    let requests = calls.enumerated().map { index, item in
      """
      {"jsonrpc":"2.0","id":\(index),"method":"eth_call","params":[{\
      \(item.contract.map { "\"to\":\"\($0.lowercase)\"," } ?? "")\
      "data":"0x\(Hex.encode(item.call.data))"},"latest"]}
      """
    }
    let list = requests.joined(separator: ",")
    return Array((isSingle ? list : "[\(list)]").utf8)
  }

  /// Takes one outcome for all calls.
  ///
  /// - Parameters:
  ///   - reason: the reason for which there is no response that can be read.
  ///   - isContracts: whether a contract can bring that about; the word of the only one is not doubted.
  public func failed(_ reason: String, isContracts: Bool = false) -> [Outcome] {
    calls.map { _ in isSingle && isContracts ? .none : .failed(reason) }
  }

  private struct Answer: Decodable {
    struct Failure: Decodable {
      let code: Int?
      let message: String?
    }

    let id: Int?
    let result: String?
    let error: Failure?
  }

  /// Reads the body of the HTTP response.
  ///
  /// - Parameter body: an array of responses in any order; the response for one request that is no batch.
  /// - Returns: an outcome for each call, in the calls' order.
  public func outcomes(in body: [UInt8]) -> [Outcome] {
    let list = isSingle ? Array("[".utf8) + body + Array("]".utf8) : body
    guard let answers = try? JSONDecoder().decode([Answer].self, from: Data(list)) else {
      return failed("the endpoint’s response is no JSON-RPC")
    }
    var byID: [Int: Answer] = [:]
    for answer in answers { if let id = answer.id { byID[id] = answer } }
    return calls.indices.map { index in
      guard let answer = byID[index] else { return .failed("the endpoint left a call out") }
      if let failure = answer.error { return Self.outcome(failure) }
      guard let result = answer.result, let data = ReturnData(hex: result) else {
        return .failed("the endpoint’s result is no data")
      }
      return result == "0x" ? .none : .returned(data)
    }
  }

  /// The words of endpoints for code that has ended without a result: by `revert`, or as contracts of before did.
  private static let ends = [
    "revert", "invalid opcode", "invalid jump", "out of gas", "stack underflow", "stack overflow",
  ]

  /// Tells an end of the contract's code, which is its word, from a failure of the endpoint.
  private static func outcome(_ failure: Answer.Failure) -> Outcome {
    let message = failure.message?.lowercased() ?? ""
    let hasEnded = failure.code == 3 || ends.contains(where: message.contains)
    return hasEnded ? .none : .failed("error \(failure.code ?? 0)")
  }
}
