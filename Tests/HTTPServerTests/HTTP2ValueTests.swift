internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import HTTPServer

@Suite("HTTP/2 values") struct HTTP2ValueTests {
  @Test func fieldsAreThoseOfHTTP2() {
    var response = Response(.ok, type: "text/plain", text: "abc")
    response.fields.append(FieldName("X-Mixed"), "Value: 1")
    response.fields.append(FieldName("Connection"), "close")
    response.fields.append(.upgrade, "websocket")
    response.fields.append(FieldName("X-Empty"), "")
    let date = Array("Date: now\r\n".utf8)
    let pairs = HTTP2Fields(response, date: date, headOnly: false).pairs
    #expect(
      pairs.map { "\($0.name)=\($0.value)" } == [
        ":status=200", "date=now", "content-type=text/plain", "x-mixed=Value: 1", "x-empty=",
        "content-length=3",
      ])
    let empty = HTTP2Fields(Response(.noContent), date: [], headOnly: false).pairs
    #expect(empty.map(\.name) == [":status"])
    let head = HTTP2Fields(Response(.ok), date: [], headOnly: true).pairs
    #expect(head.map(\.name) == [":status"])
  }

  @Test func anAllowanceIsUsedUpAndComesBack() {
    var allowance = HTTP2Allowance(now: 0)
    let resets = HTTP2Allowance.limit / HTTP2Allowance.Charge.lostRequest.rawValue
    let verdicts = (0...resets).map { _ in allowance.charge(.lostRequest, now: 0) }
    #expect(verdicts == Array(repeating: true, count: resets) + [false])
    let later = allowance.charge(.lostRequest, now: 1000)
    #expect(later)
  }

  @Test func whoTakesAnswersMayAskOn() {
    var allowance = HTTP2Allowance(now: 0)
    for _ in 0..<100_000 {
      let goesOn = allowance.charge(.lostRequest, now: 0)
      #expect(goesOn)
      allowance.credit(.sentResponse)
    }
  }
}
