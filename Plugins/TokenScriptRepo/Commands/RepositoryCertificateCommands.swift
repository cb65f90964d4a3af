internal import Platform
internal import ServiceKit
internal import XMLSecurity

/// `awd repo certificate request`: asks the holder of a master key for a certificate, as the official tool does.
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

/// `awd repo certificate sign`: answers a request with a certificate that lends the author the master key's standing.
struct RepositoryCertificateSignCommand: Command {
  static let name = "repo certificate sign"
  static let summary = "Answer a request with a certificate, as tokenscript certificate sign does"
  static let parameters: [CommandParameter] = [
    .option(
      "key", value: "MASTER",
      "the private key that stands for the contract, on secp256k1, in PEM or 64 hexadecimal digits "
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

/// A file that a command makes, and never in the place of another.
private enum NewFile {
  static func write(_ bytes: [UInt8], to path: String) throws(CommandError) {
    do throws(SystemError) { try DurableFile.create(path, bytes) } catch {
      throw .refused(
        "\(path): it can't be written, and nothing there is replaced: \(error)".printable)
    }
  }
}
