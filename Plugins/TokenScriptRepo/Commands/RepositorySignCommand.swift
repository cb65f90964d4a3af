internal import Observability
internal import ServiceKit
internal import SystemCalls
internal import Time
internal import XMLSecurity

/// `awd repo sign`: adds a signature to a TokenScript.
struct RepositorySignCommand: Command {
  static let name = "repo sign"
  static let summary = "Sign a TokenScript, or add a further signature, with the time"
  static let parameters: [CommandParameter] = [
    .option("key", value: "KEY", "the private key in PEM: RSA, P-256, P-384, P-521 or secp256k1"),
    .option(
      "certificate", value: "CHAIN",
      "certificates in PEM, that of the key among them; without it, the signature names the key"),
    .option("output", value: "FILE", "where to write; without it, FILE itself is replaced"),
    .operand("FILE", "the TokenScript"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let path = arguments.operands[0]
    guard let key = arguments["key"] else { throw CommandError.usage("--key KEY is missing") }
    let line = try await WorkerThreads.run {
      try sign(
        path, key: key, certificate: arguments["certificate"],
        output: arguments["output"] ?? path, now: Timestamp.now().seconds)
    }
    context.print(line.printable)
  }

  /// Signs; blocks on the disk.
  ///
  /// - Returns: what was done, in words.
  private static func sign(
    _ path: String, key keyPath: String, certificate: String?, output: String, now: Int64
  ) throws(CommandError) -> String {
    let key: PrivateKey
    let writer: SignatureWriter
    do { key = try PrivateKey(pem: contents(keyPath)) } catch {
      throw .refused("\(keyPath): \(error)")
    }
    do {
      let chain = try certificate.map { try Certificate.certificates(pem: contents($0)) } ?? []
      writer = try SignatureWriter(key: key, certificates: chain)
    } catch { throw .refused("\(certificate ?? keyPath): \(error)") }
    let bytes: [UInt8]
    let signatures: Int
    do throws(Refusal) {
      bytes = try CommandFile(path).contents()
      _ = try TokenScriptReader().read(bytes, now: now)
    } catch { throw .refused("\(path): \(error.words); only a TokenScript can be signed") }
    do {
      signatures = try SignatureVerifier().verify(XMLDocument(parsing: bytes)).count
    } catch let error as SignatureError where error.code == .unsigned {
      signatures = 0
    } catch {
      throw .refused(
        "\(path): its signature does not hold, and a further one would cover it: \(error); "
          + "sign the original, or remove the signature first")
    }
    let signed: [UInt8]
    do throws(SigningError) { signed = try writer.sign(bytes, at: now) } catch {
      throw .refused("\(path): \(error)")
    }
    do throws(SystemError) { try DurableFile.replace(output, signed) } catch {
      throw .refused("\(output): it can't be written: \(error)")
    }
    return "\(output): signature \(signatures + 1) with the \(key.publicKey.kind.rawValue) key "
      + "\(key.publicKey.identifier) at \(Timestamp(seconds: now))"
  }

  private static func contents(_ path: String) throws(SystemError) -> [UInt8] {
    try Descriptor.contents(ofFile: path, limit: 1 << 20)
  }
}
