internal import Cryptography
internal import Ethereum
internal import Foundation
internal import Testing

struct CallBatchTests {
  private let batch: CallBatch

  init() throws {
    let contract = try #require(EthereumAddress("0x6b175474e89094c44da98b954eedeac495271d0f"))
    batch = CallBatch([(contract, .owner), (contract, .scriptURI)])
  }

  @Test func theBodyIsABatch() throws {
    let object = try JSONSerialization.jsonObject(with: Data(batch.body)) as? [[String: Any]]
    let calls = try #require(object)
    #expect(calls.map { $0["id"] as? Int } == [0, 1])
    #expect(
      calls.allSatisfy {
        $0["method"] as? String == "eth_call" && $0["jsonrpc"] as? String == "2.0"
      })
    let parameters = try #require(calls[1]["params"] as? [Any])
    #expect(parameters[1] as? String == "latest")
    #expect(
      parameters[0] as? [String: String] == [
        "to": "0x6b175474e89094c44da98b954eedeac495271d0f", "data": "0x4bb30912",
      ])
  }

  @Test func responsesAreReadInAnyOrder() {
    let outcomes = batch.outcomes(
      in: Array(#"[{"id":1,"result":"0x"},{"id":0,"result":"0x01"}]"#.utf8))
    #expect(outcomes == [.returned(ReturnData([1])), .none])
  }

  @Test func aRevertIsAWordAndAFailureIsNone() {
    let outcomes = batch.outcomes(
      in: Array(
        """
        [{"id":0,"error":{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}},
        {"id":1,"error":{"code":-32005,"message":"limit exceeded"}}]
        """.utf8))
    #expect(outcomes == [.none, .failed("error -32005")])
  }

  @Test(arguments: ["invalid opcode: INVALID", "out of gas", "EVM error: StackUnderflow"])
  func codeThatHasEndedOtherwiseIsAWordToo(_ message: String) {
    let body = #"[{"id":0,"error":{"code":-32000,"message":"\#(message)"}},{"id":1,"result":"0x"}]"#
    let isKnown = !message.contains("EVM")
    #expect(
      batch.outcomes(in: Array(body.utf8)) == [isKnown ? .none : .failed("error -32000"), .none])
  }

  @Test(arguments: [
    "", "null", "{}", "[]", "[{}]", #"{"error":{"code":1}}"#,
    #"[{"id":0,"result":"0xzz"},{"id":1}]"#,
    #"[{"id":0,"result":7},{"id":1,"result":"0x"}]"#, #"[{"id":"0","result":"0x"}]"#,
    #"[{"id":0,"result":"01"}]"#, String(repeating: "[", count: 100_000),
  ])
  func whatIsNoResponseFails(_ body: String) {
    let outcomes = batch.outcomes(in: Array(body.utf8))
    #expect(outcomes.count == 2)
    for case .failed(let reason) in outcomes { #expect(!reason.isEmpty) }
    #expect(outcomes[0] != .none)
    guard case .failed = outcomes[0] else {
      Issue.record("\(outcomes)")
      return
    }
  }
}
