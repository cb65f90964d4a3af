internal import CNghttp2
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
    var fields = HTTP2Fields(response, date: date, headOnly: false)
    #expect(
      fields.pairs.map { "\($0.name)=\($0.value)" } == [
        ":status=200", "date=now", "content-type=text/plain", "x-mixed=Value: 1", "x-empty=",
        "content-length=3",
      ])
    var empty = HTTP2Fields(Response(.noContent), date: [], headOnly: false)
    #expect(empty.pairs.map(\.name) == [":status"])
    var head = HTTP2Fields(Response(.ok), date: [], headOnly: true)
    #expect(head.pairs.map(\.name) == [":status"])
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

extension HTTP2Fields {
  /// The fields as nghttp2 gets them.
  fileprivate var pairs: [(name: String, value: String)] {
    mutating get {
      var pairs: [(name: String, value: String)] = []
      _ = withNameValues { values, count in
        for field in UnsafeBufferPointer(start: values, count: count) {
          let name = UnsafeBufferPointer(start: field.name, count: field.namelen)
          let value = UnsafeBufferPointer(start: field.value, count: field.valuelen)
          pairs.append(
            (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
        }
        return 0
      }
      return pairs
    }
  }
}
