internal import Cryptography
internal import Fuzzing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo

/// Reads a file of the repository of these bytes with the checks of signature and chain, and evaluates it by every rule:
/// nothing a file holds may crash, overrun or hang.
@main enum TokenScriptFuzzer: Fuzzer {
  static let maximumLength = 8192

  static func test(_ bytes: [UInt8]) {
    let now = Timestamp(seconds: 1_700_000_000)
    let first = outcome(bytes, now)
    // A file's meaning depends on its bytes only.
    precondition(outcome(bytes, now) == first)
    guard case .success(let file) = first else { return }
    precondition((file.signer != nil) == (file.signature == .passed))
    precondition(file.signature == .passed || file.trust == .unchecked)
    precondition(file.contracts.count <= TokenScriptReader.addressLimit)
    precondition(file.root == "token" || file.contracts.isEmpty)
    var rules = RepositoryRules()
    let (refusal, _) = rules.evaluate(file)
    precondition((refusal == nil) == (file.signature == .passed))
    rules.trust = .require
    precondition(rules.evaluate(file).refusal != nil || file.trust == .passed)
    rules.signature = .off
    rules.trust = .off
    precondition(rules.evaluate(file).refusal == nil)
  }
}

private let reader = {
  var reader = TokenScriptReader()
  reader.verifier = SignatureVerifier()
  reader.roots = try? TrustStore()
  return reader
}()

private func outcome(_ bytes: [UInt8], _ now: Timestamp) -> Result<TokenScriptFile, FileRefusal> {
  do throws(FileRefusal) { return .success(try reader.read(bytes, now: now)) } catch {
    precondition(!error.reason.isEmpty)
    return .failure(error)
  }
}
