internal import ServiceKit
internal import Platform
internal import XMLSecurity

/// `awd repo sign`: adds a signature to a TokenScript.
struct RepositorySignCommand: Command {
  static let name = "repo sign"
  static let summary = "Sign a TokenScript with the present time, or add a further signature"
  static let parameters: [CommandParameter] = [
    .option("key", value: "KEY", "the private key in PEM: RSA, P-256, P-384, P-521 or secp256k1"),
    .option(
      "certificate", value: "CHAIN",
      "certificates in PEM with the key's own; without them the signature names the bare key"),
    .option("output", value: "FILE", "the file to write; by default FILE itself is replaced"),
    .operand("FILE", "the TokenScript"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let path = arguments.operands[0]
    let key = try arguments.required("key", "KEY")
    let line = try await ThreadPool(named: "awd-sign", width: 1).run {
      try sign(
        path, key: key, certificate: arguments["certificate"],
        output: arguments["output"] ?? path, now: .now())
    }
    context.print(line.printable)
  }

  /// Signs a file; blocks on the disk.
  ///
  /// - Returns: a line about the signature.
  private static func sign(
    _ path: String, key keyPath: String, certificate: String?, output: String, now: Timestamp
  ) throws(CommandError) -> String {
    let key = try CommandFile(keyPath).privateKey()
    let writer: SignatureWriter
    do {
      let chain =
        try certificate.map {
          try Certificate.certificates(pem: Descriptor.contents(ofFile: $0))
        } ?? []
      writer = try SignatureWriter(key: key, certificates: chain)
    } catch { throw .refused("\(certificate ?? keyPath): \(error)") }
    let bytes: [UInt8]
    let signatures: Int
    do throws(FileRefusal) {
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
      + "\(key.publicKey.identifier) at \(now.wholeSecond)"
  }
}
