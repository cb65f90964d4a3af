internal import Cryptography
internal import Formats
internal import FoundationEssentials

/// A batch of JSON-RPC requests `eth_call` at the latest block, and its responses.
public struct CallBatch: Sendable {
  /// The response to one call.
  public enum Outcome: Hashable, Sendable {
    /// The function has returned data.
    case returned(ReturnData)
    /// There is no such function or contract, or it has reverted.
    case none
    /// The endpoint has failed, for this reason.
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
    if isSingle {
      return JSONWriter.object { write(0, to: &$0) }
    }
    return JSONWriter.list { list in
      for index in calls.indices { list.append(object: { write(index, to: &$0) }) }
    }
  }

  private func write(_ index: Int, to request: inout JSONObjectWriter) {
    let (contract, call) = calls[index]
    request["jsonrpc"] = "2.0"
    request["id"] = index
    request["method"] = "eth_call"
    request.add(
      "params",
      list: { parameters in
        parameters.append(object: { transaction in
          transaction["to"] = contract?.lowercase
          transaction["data"] = "0x\(Hex.encode(call.data))"
        })
        parameters.append("latest")
      })
  }

  /// Returns one outcome for all calls.
  ///
  /// - Parameters:
  ///   - reason: the reason for which there is no response that can be read.
  ///   - isContracts: whether a contract can cause that. If it is the only one of the batch, it counts as having no such
  ///     function.
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
    let answers: [Answer]
    do {
      let decoder = JSONDecoder()
      let data = Data(body)
      answers =
        isSingle
        ? [try decoder.decode(Answer.self, from: data)]
        : try decoder.decode([Answer].self, from: data)
    } catch {
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

  /// The words of endpoints for code that has ended without a result: by `revert`, or as older contracts do.
  private static let ends = [
    "revert", "invalid opcode", "invalid jump", "out of gas", "stack underflow", "stack overflow",
  ]

  /// Distinguishes an end of the contract's code, which is an answer, from a failure of the endpoint.
  private static func outcome(_ failure: Answer.Failure) -> Outcome {
    let message = failure.message?.lowercased() ?? ""
    let hasEnded = failure.code == 3 || ends.contains(where: message.contains)
    return hasEnded ? .none : .failed("error \(failure.code ?? 0)")
  }
}
