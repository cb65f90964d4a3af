internal import Cryptography
internal import Time
internal import TokenScriptReading
internal import XMLSecurity

/// Reads the bytes as a file of the repository with the checks of signature and chain, and judges it by every rule: no
/// content may cause a crash, an overrun or a hang.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTokenScript(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let now = Timestamp(seconds: 1_700_000_000)
  let first = outcome(bytes, now)
  // A file's meaning depends on its bytes only.
  precondition(outcome(bytes, now) == first)
  guard case .success(let file) = first else { return 0 }
  precondition((file.signer != nil) == (file.signature == .passed))
  precondition(file.signature == .passed || file.trust == .unchecked)
  precondition(file.contracts.count <= TokenScriptReader.addressLimit)
  precondition(file.root == "token" || file.contracts.isEmpty)
  var rules = RepositoryRules()
  let (refusal, _) = rules.judge(file)
  precondition((refusal == nil) == (file.signature == .passed))
  rules.trust = .require
  precondition(rules.judge(file).refusal != nil || file.trust == .passed)
  rules.signature = .off
  rules.trust = .off
  precondition(rules.judge(file).refusal == nil)
  return 0
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
