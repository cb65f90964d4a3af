internal import Cryptography
internal import Ethereum
internal import Fuzzing

/// Reads these bytes as a function's return data, and as an endpoint's response to a batch: nothing that a contract or an
/// endpoint says may overrun or grow without bound.
@main enum ReturnDataFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    let data = ReturnData(bytes)
    precondition(data.address == nil || bytes.count == 32)
    if let strings = data.strings {
      precondition(strings.count <= ReturnData.stringLimit)
      precondition(strings.allSatisfy { $0.utf8.count <= ReturnData.lengthLimit })
    }
    let batch = CallBatch([(EthereumAddress(), .owner), (EthereumAddress(), .scriptURI)])
    precondition(batch.outcomes(in: bytes).count == 2)
  }
}
