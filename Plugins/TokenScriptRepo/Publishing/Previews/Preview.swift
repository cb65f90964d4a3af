internal import Cryptography
internal import Ethereum
internal import FoundationEssentials

/// The facts about a file that its author looks at in the viewer before it is published. It is stored with them.
struct Preview: Codable, Sendable {
  /// The time for which a preview is there.
  static let lifetime = Duration.seconds(86_400)

  /// A contract on a chain.
  struct Contract: Codable, Sendable {
    let chain: Int64
    let address: String
  }

  /// The outcome of a check in words.
  struct Verdict: Codable, Sendable {
    let check: String
    let words: String
  }

  /// The SHA-256 of the bytes in hexadecimal digits.
  let sha256: String
  /// The identifier of the signer's key, or nil if the file is not signed.
  let signer: String?
  /// The contracts that the file names as its origins.
  let contracts: [Contract]
  /// The version in the file's namespace.
  let schema: String
  /// The outcomes of the checks.
  let verdicts: [Verdict]
  /// The oddities of the file.
  let warnings: [String]

  /// Tells the facts about a file.
  init(_ submission: PublicationRules.Submission, _ rules: RepositoryRules) {
    let file = submission.file
    sha256 = submission.digest.hex
    signer = file.signer?.publisher
    contracts = file.namedOrigins.map {
      Contract(chain: $0.chain.number, address: $0.address.checksummed)
    }
    schema = file.schema.path
    let checks = [("Signature", file.signature), ("Schema", file.validity), ("Trust", file.trust)]
    verdicts = checks.map { Verdict(check: $0, words: $1.summary(\.words)) }
    let (refusal, warnings) = rules.evaluate(file)
    self.warnings =
      file.warnings + warnings + (refusal.map { ["it would be refused: \($0.words)"] } ?? [])
  }

  /// Makes a name that can't be guessed: 128 random bits as 22 characters of base64url.
  static func randomName() -> String {
    Data(SecureRandom.bytes(16)).base64EncodedString().replacing("+", with: "-")
      .replacing("/", with: "_").replacing("=", with: "")
  }
}

/// The configuration's answer to who may put up a preview.
enum PreviewPolicy: String, Sendable, CaseIterable {
  /// Nobody.
  case off
  /// Anybody with a file whose signature holds.
  case signed
  /// Anybody.
  case open
}
