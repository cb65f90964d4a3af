internal import Ethereum
internal import FoundationEssentials
internal import Glibc
internal import HTTPProtocol
internal import Observability
internal import Platform
internal import ServiceKit
internal import TokenScriptRepoResources
internal import XMLSecurity

/// A small repository to try the service with, made if none is configured.
///
/// It is signed with new keys that nobody trusts. Its two folders are made under other names and renamed once they are
/// complete, so a crash leaves nothing half-made.
struct DemoRepository: Sendable {
  /// The repository's root.
  let folder: String
  /// The folder of the signers' keys.
  let keys: String

  /// Makes the demo of a data folder.
  ///
  /// - Parameter dataFolder: a folder in which no other process makes a demo.
  init(dataFolder: String) {
    folder = "\(dataFolder)/repository"
    keys = "\(dataFolder)/demo-keys"
  }

  /// True if the repository began as the demo.
  var isThere: Bool { Self.exists(folder) && Self.exists(keys) }

  /// Makes the demo unless there is a repository in its place; blocks on the disk.
  ///
  /// - Throws: ``DemoError``.
  func make(now: Timestamp, log: Log) throws(DemoError) {
    guard !Self.exists(folder) else { return }
    var writers: [(signer: DemoSigner, writer: SignatureWriter)] = []
    do {
      if !Self.exists(keys) {
        try whole(keys, mode: 0o700) { keys in
          for signer in DemoSigner.allCases { try signer.makeKey(in: keys, now: now) }
        }
      }
      for signer in DemoSigner.allCases { writers.append((signer, try signer.writer(from: keys))) }
    } catch { throw DemoError("\(keys): \(error); remove it to have new keys made") }
    do {
      try whole(folder, mode: 0o755) { folder in
        for (signer, writer) in writers {
          for file in DemoFile.all where file.signer == signer {
            try add(file.path, try writer.sign(file.bytes, at: now), to: folder)
          }
        }
      }
    } catch { throw DemoError("\(folder): \(error)") }
    log.info(
      "no repository was configured: a demo was made, signed with keys of its own",
      [
        "repository": folder, "files": DemoFile.all.count, "keys": keys,
        "signers": DemoSigner.allCases.map { $0.commonName ?? "a bare key" }
          .joined(separator: ", "),
      ])
  }

  /// Makes a folder under another name, fills it, and gives it its name.
  private func whole(_ path: String, mode: mode_t, _ fill: (String) throws -> Void) throws {
    let unfinished = "\(path).unfinished"
    // Left behind by a crash.
    if Self.exists(unfinished) { try FileManager.default.removeItem(atPath: unfinished) }
    try DurableFile.makeFolder(unfinished, mode: mode)
    try fill(unfinished)
    try DurableFile.sync(unfinished)
    guard unsafe rename(unfinished, path) == 0 else { throw SystemError(errno) }
    try DurableFile.sync(folderOf: path)
  }

  /// Writes a file and the folders above it.
  private func add(_ path: String, _ bytes: [UInt8], to root: String) throws(SystemError) {
    let file = "\(root)/\(path)"
    try DurableFile.makeFolder(DurableFile.folder(of: file), mode: 0o755)
    try DurableFile.create(file, bytes)
    try DurableFile.sync(folderOf: file)
  }

  /// Returns whether there is anything at a path, even a dangling link.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0
  }
}

/// The error of a demo that can't be made.
struct DemoError: Error, CustomStringConvertible {
  /// The reason, and a way out.
  let description: String

  fileprivate init(_ reason: String) {
    description =
      "the demo can't be made: \(reason); or name a repository by `repository` in [tokenscript]"
  }
}

/// The TokenScripts of the demo.
enum DemoFile {
  /// The files in both layouts, `<signer>/<YYYY>/<MM>/<contract>.tsml` and the older
  /// `<contract>/schema…/<signer>-signed.xml`: the path below the root, the signer, and the document without a signature.
  static let all: [(path: String, signer: DemoSigner, bytes: [UInt8])] = [
    ("demo.awd.example/2020/03/DAI.tsml", .demo, Resource(tokenscript_DAI_2020_03_tsml()).bytes),
    ("demo.awd.example/2020/06/DAI.tsml", .demo, Resource(tokenscript_DAI_tsml()).bytes),
    ("demo.awd.example/2020/06/ENS.tsml", .demo, Resource(tokenscript_ENS_tsml()).bytes),
    ("demo.awd.example/2020/06/USDC.tsml", .demo, Resource(tokenscript_USDC_tsml()).bytes),
    (
      "USDC/schema2020-06/guild.awd.example-signed.xml", .guild,
      Resource(tokenscript_USDC_tsml()).bytes
    ),
    ("WETH/schema2020-06/signed.xml", .owner, Resource(tokenscript_WETH_tsml()).bytes),
  ]
}

/// The fictitious signers of the demo, whose keys are made at the first start.
enum DemoSigner: String, CaseIterable, Sendable {
  /// The signer of most files, with an RSA key and a certificate.
  case demo
  /// The second signer of one contract, with a P-256 key and a certificate.
  case guild
  /// A signer with a bare Ethereum key.
  case owner

  /// The common name of the certificate, or nil without one.
  var commonName: String? { self == .owner ? nil : "\(rawValue).awd.example" }

  /// The kind of the key.
  var kind: PublicKey.Kind {
    switch self {
    case .demo: .rsa
    case .guild: .p256
    case .owner: .secp256k1
    }
  }

  /// Makes the key, and the certificate if the signer has one.
  ///
  /// - Throws: ``SigningError``, ``SystemError``.
  func makeKey(in folder: String, now: Timestamp) throws {
    let key = try DevelopmentKey(kind, commonName: commonName ?? rawValue, notBefore: now)
    try DurableFile.create(keyPath(in: folder), key.keyPEM, mode: 0o600)
    if commonName != nil { try DurableFile.create(certificatePath(in: folder), key.certificatePEM) }
  }

  /// Makes a writer of signatures with the key.
  ///
  /// - Throws: ``SigningError``, ``CertificateError``, ``SystemError``.
  func writer(from folder: String) throws -> SignatureWriter {
    let key = try PrivateKey(pem: Descriptor.contents(ofFile: keyPath(in: folder)))
    let path = certificatePath(in: folder)
    let certificates =
      try commonName == nil ? [] : Certificate.certificates(pem: Descriptor.contents(ofFile: path))
    return try SignatureWriter(key: key, certificates: certificates)
  }

  private func keyPath(in folder: String) -> String { "\(folder)/\(rawValue).key.pem" }
  private func certificatePath(in folder: String) -> String { "\(folder)/\(rawValue).cert.pem" }
}

/// The requests to try with the demo, as far as its index still gives the responses that they promise.
struct DemoExamples {
  private static let dai = "0x6b175474e89094c44da98b954eedeac495271d0f"
  private static let coin = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"

  /// The index in service.
  let index: ContractIndex
  /// The server's URL, without a slash at its end.
  let url: String
  /// The host name of the requests, or nil for any.
  let host: String?

  /// The examples in the order in which they make sense.
  var all: [ServiceExample] {
    var examples: [ServiceExample] = []
    if case .file = response("2020/03", Self.dai),
      let file = edition("2020/03", Self.dai)?.candidates.first
    {
      let path = "2020/03/\(Self.dai)"
      examples = [
        ServiceExample("200, the TokenScript of Dai and when it was signed", get(path)),
        ServiceExample(
          "304, as it has not changed since then",
          get(path, "If-Modified-Since: \(HTTPDate(file.modified.seconds).text)")),
      ]
    }
    if case .choices = response("2020/06", Self.coin) {
      let path = "2020/06/\(Self.coin)"
      examples.append(
        ServiceExample("300, two signers to choose from", get(path, "Accept: application/json")))
      if let name = DemoSigner.guild.commonName {
        examples.append(
          ServiceExample("200, the file of one of them", get("\(path)?signer=\(name)")))
      }
    }
    if !examples.isEmpty, edition("2019/05", Self.dai) == nil {
      examples.append(
        ServiceExample(
          "404, as nothing is written in that version of the language",
          get("2019/05/\(Self.dai)")))
    }
    return examples
  }

  private func edition(_ schema: String, _ contract: String) -> Edition? {
    guard let schema = SchemaVersion(schema), let contract = EthereumAddress(contract) else {
      return nil
    }
    return index.edition(of: ContractKey(contract), schema)
  }

  private func response(_ schema: String, _ contract: String) -> PreparedResponse? {
    edition(schema, contract)?.response
  }

  private func get(_ path: String, _ field: String? = nil) -> String {
    let fields = [host.map { "Host: \($0)" }, field].compactMap { $0.map { " -H '\($0)'" } }
    return "curl -i\(fields.joined()) '\(url)/\(path)'"
  }
}
