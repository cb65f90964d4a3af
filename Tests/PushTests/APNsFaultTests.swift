internal import Push
internal import TestSupport
internal import Testing
internal import Platform

/// The bodies of Apple's refusals.
struct APNsFaultTests {
  private func fault(_ json: String) -> APNsFault { APNsFault(json: Array(json.utf8)) }

  @Test func givesApplesWordAndMoment() {
    let gone = fault(#"{"reason":"Unregistered","timestamp":1800000000000}"#)
    #expect(gone.reason == "Unregistered")
    #expect(gone.timestamp == Timestamp(seconds: 1_800_000_000))
    let bad = fault(#"{"reason":"BadDeviceToken"}"#)
    #expect(bad.reason == "BadDeviceToken" && bad.timestamp == nil)
  }

  @Test(arguments: [
    "", "no JSON", "[]", "{", #"{"reason":""}"#, #"{"reason":1,"timestamp":"1"}"#,
    #"{"reason":"two words","timestamp":1.5}"#, #"{"reason":"a\nb","timestamp":null}"#,
    "{\"reason\":\"" + String(repeating: "x", count: 65) + "\"}",
  ])
  func takesNothingElse(json: String) {
    #expect(fault(json).reason == nil)
    #expect(fault(json).timestamp == nil)
  }
}
