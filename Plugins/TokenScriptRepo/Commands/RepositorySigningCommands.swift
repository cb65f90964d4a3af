internal import Platform
internal import ServiceKit
internal import XMLSecurity

/// `awd repo sign`: adds a signature to a TokenScript.
struct RepositorySignCommand: Command {
  static let name = "repo sign"
  static let summary = "Sign a TokenScript with the present time, or add a further signature"
  static let parameters: [CommandParameter] = [
    .option(
      "key", value: "KEY",
      "the private key: PEM of RSA, P-256, P-384, P-521 or secp256k1, or 64 hexadecimal digits; "
        + "by default ts-signing.key of a project folder"),
    .option(
      "certificate", value: "CHAIN",
      "certificates in PEM with the key's own; without them the signature names the bare key"),
    .option(
      "output", value: "FILE",
      "the file to write; by default FILE itself is replaced, or a project's "
        + "out/tokenscript.signed.tsml"),
    .operand("FILE", "the TokenScript, or a project folder of the official tool that is built"),
  ]

  /// The files of one signature.
  private struct Files: Sendable {
    let input: String
    let output: String
    let key: String
    let certificate: String?
    /// True if the certificate is a project's, which counts only for the key that it holds.
    let isCertificateOptional: Bool
  }

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let lines = try await ThreadPool(named: "awd-sign", width: 1).run {
      try sign(files(arguments), now: .now())
    }
    for line in lines { context.print(line.printable) }
  }

  /// Finds the files that the arguments name; blocks on the disk.
  private static func files(_ arguments: CommandArguments) throws(CommandError) -> Files {
    let path = arguments.operands[0]
    guard let project = ProjectFolder(path) else {
      return Files(
        input: path, output: arguments["output"] ?? path,
        key: try arguments.required("key", "KEY"), certificate: arguments["certificate"],
        isCertificateOptional: false)
    }
    let input = try project.unsignedFile()
    guard let key = arguments["key"] ?? project.key else {
      throw .usage("--key KEY is missing, and \(path) has no ts-signing.key")
    }
    return Files(
      input: input, output: arguments["output"] ?? project.signed, key: key,
      certificate: arguments["certificate"] ?? project.certificate,
      isCertificateOptional: arguments["key"] != nil && arguments["certificate"] == nil)
  }

  /// Signs a file; blocks on the disk.
  ///
  /// - Returns: lines about the signature.
  private static func sign(_ files: Files, now: Timestamp) throws(CommandError) -> [String] {
    let key = try CommandFile(files.key).privateKey()
    var certificates: [Certificate] = []
    let writer: SignatureWriter
    do {
      if let path = files.certificate {
        certificates = try Certificate.certificates(pem: Descriptor.contents(ofFile: path))
        if files.isCertificateOptional, !certificates.contains(where: { $0.key == key.publicKey }) {
          certificates = []
        }
      }
      writer = try SignatureWriter(key: key, certificates: certificates)
    } catch { throw .refused("\(files.certificate ?? files.key): \(error)") }
    let bytes: [UInt8]
    let isUnbuilt: Bool
    let signatures: Int
    do throws(FileRefusal) {
      bytes = try CommandFile(files.input).contents()
      isUnbuilt = try TokenScriptReader().read(bytes, now: now).isUnbuilt
    } catch {
      let advice = error.advice(at: files.input).map { "; \($0)" }.joined()
      throw .refused("\(files.input): \(error.words); only a TokenScript can be signed\(advice)")
    }
    do {
      signatures = try SignatureVerifier().verify(XMLDocument(parsing: bytes)).count
    } catch let error as SignatureError where error.code == .unsigned {
      signatures = 0
    } catch let error as SignatureError where error.code == .defaultNamespace {
      throw .refused("\(files.input): \(error); \(FileRefusal.defaultNamespaceStep)")
    } catch {
      throw .refused(
        "\(files.input): its signature does not hold, and a further one would cover it: \(error); "
          + "sign the original, or remove the signature first")
    }
    let signed: [UInt8]
    do throws(SigningError) { signed = try writer.sign(bytes, at: now) } catch {
      throw .refused("\(files.input): \(error)")
    }
    do throws(SystemError) { try DurableFile.replace(files.output, signed) } catch {
      throw .refused("\(files.output): it can't be written: \(error)")
    }
    var lines = [
      "\(files.output): signature \(signatures + 1) with the \(key.publicKey.kind.rawValue) key "
        + "\(key.publicKey.identifier) at \(now.wholeSecond)"
    ]
    if isUnbuilt {
      lines.append("warning: this is \(FileRefusal.unbuilt); \(TokenScriptFile.buildStep)")
    }
    if certificates.count == 1, certificates[0].delegator == nil {
      lines.append(
        "warning: the official engine ignores a signature with a single certificate unless "
          + "awd repo certificate sign, or tokenscript certificate sign, has made it; leave "
          + "--certificate out for that engine")
    }
    return lines
  }
}

/// `awd repo certificate request`: writes a request for a certificate to the holder of a master key, as the official tool does.
struct RepositoryCertificateRequestCommand: Command {
  static let name = "repo certificate request"
  static let summary = "Write a request for a certificate, as tokenscript certificate request does"
  static let parameters: [CommandParameter] = [
    .option(
      "key", value: "KEY", "the author's private key, in PEM or 64 hexadecimal digits (required)"),
    .option(
      "cn", value: "NAME", "the common name of the author, such as author.example (required)"),
    .option(
      "output", value: "FILE", "the file to write; ts-certificate-request.pem by default"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let keyPath = try arguments.required("key", "KEY")
    let name = try arguments.required("cn", "NAME")
    let output = arguments["output"] ?? "ts-certificate-request.pem"
    try await ThreadPool(named: "awd-certificate", width: 1).run {
      let key = try CommandFile(keyPath).privateKey()
      let text: [UInt8]
      do throws(SigningError) {
        text = try CertificateRequest.pem(for: key, commonName: name)
      } catch {
        throw CommandError.refused("\(error)".printable)
      }
      try NewFile.write(text, to: output)
    }
    context.print("\(output): a request for a certificate of \(name)".printable)
    context.print("next: awd repo certificate sign --key MASTER --cn ISSUER '\(output)'".printable)
  }
}

/// `awd repo certificate sign`: answers a request with a certificate by which the author signs in the master key's name.
struct RepositoryCertificateSignCommand: Command {
  static let name = "repo certificate sign"
  static let summary = "Answer a request with a certificate, as tokenscript certificate sign does"
  static let parameters: [CommandParameter] = [
    .option(
      "key", value: "MASTER",
      "the private key of the contract's issuer, on secp256k1, in PEM or 64 hexadecimal digits "
        + "(required)"),
    .option("cn", value: "ISSUER", "the common name of the issuer (required)"),
    .option("output", value: "FILE", "the file to write; ts-certificate.pem by default"),
    .operand("REQUEST", "the request in PEM"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let keyPath = try arguments.required("key", "MASTER")
    let issuer = try arguments.required("cn", "ISSUER")
    let output = arguments["output"] ?? "ts-certificate.pem"
    let path = arguments.operands[0]
    let name = try await ThreadPool(named: "awd-certificate", width: 1).run {
      let master = try CommandFile(keyPath).privateKey()
      let request: CertificateRequest
      do { request = try CertificateRequest(pem: Descriptor.contents(ofFile: path)) } catch {
        throw CommandError.refused("\(path): \(error)".printable)
      }
      let text: [UInt8]
      do throws(SigningError) {
        text = try request.certificate(signedBy: master, issuer: issuer, from: .now())
      } catch { throw CommandError.refused("\(error)".printable) }
      try NewFile.write(text, to: output)
      return request.commonName
    }
    context.print(
      "\(output): a certificate of \(name) for two years, issued by \(issuer)".printable)
    context.print("next: awd repo sign --key KEY --certificate '\(output)' FILE".printable)
  }
}

/// A new file of a command, which never replaces another.
private enum NewFile {
  static func write(_ bytes: [UInt8], to path: String) throws(CommandError) {
    do throws(SystemError) { try DurableFile.create(path, bytes) } catch {
      throw .refused(
        "\(path): it can't be written, and nothing there is replaced: \(error)".printable)
    }
  }
}
