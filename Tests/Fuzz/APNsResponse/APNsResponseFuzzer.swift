internal import Fuzzing
internal import Push

/// Takes these bytes as the JSON with which Apple refuses a push: its reason is fit for a log.
@main enum APNsResponseFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    let fault = APNsFault(json: bytes)
    precondition(APNsFault(json: bytes).reason == fault.reason)
    guard let reason = fault.reason else { return }
    precondition((1...64).contains(reason.utf8.count))
    precondition(reason.utf8.allSatisfy { (0x30...0x7a).contains($0) })
  }
}
