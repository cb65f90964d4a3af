internal import Cryptography
internal import Ethereum
internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol
internal import Observability
internal import Platform
internal import Routing
internal import ServiceKit
internal import Storage
internal import TokenScriptRepoResources
internal import WebApps

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
  struct CheckOutcome: Codable, Sendable {
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
  let outcomes: [CheckOutcome]
  /// The oddities of the file.
  let warnings: [String]

  /// Collects the facts about a file.
  init(_ submission: PublicationRules.Submission, _ rules: RepositoryRules) {
    let file = submission.file
    sha256 = submission.digest.hex
    signer = file.signer?.publisher
    contracts = file.namedOrigins.map {
      Contract(chain: $0.chain.number, address: $0.address.checksummed)
    }
    schema = file.schema.path
    let checks = [("Signature", file.signature), ("Schema", file.validity), ("Trust", file.trust)]
    outcomes = checks.map { CheckOutcome(check: $0, words: $1.summary(\.words)) }
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

/// The clients that may put up a preview, by the configuration.
enum PreviewPolicy: String, Sendable, CaseIterable {
  /// Nobody.
  case off
  /// Anybody with a file whose signature holds.
  case signed
  /// Anybody.
  case open
}

/// Receives files from their authors, and shows each for a day to holders of its URL.
struct PreviewResponder: Sendable {
  private let repository: Repository
  private let queue = VerificationQueue(named: "awd-preview")
  private let pages = ThreadPool(named: "awd-preview-page", width: 1, queue: 64, niceness: 10)
  private let shared = SharedBytes()

  /// Makes a responder, whose policy isn't "off".
  init(_ repository: Repository) { self.repository = repository }

  /// Responds to `POST /preview`, which puts up the body.
  ///
  /// - Returns: 201 with the URL and the facts, or the refusal.
  func post(_ request: Request) async throws -> Response {
    let base = try repository.knownBase(for: request)
    let now = repository.clock()
    let verification = repository.verification.value
    let rules = repository.index.value.rules
    let policy = repository.configuration.previewPolicy
    do {
      let preview = try await queue.run(for: request) { body in
        do throws(FileRefusal) {
          let submission = try verification.submission(body, now: now)
          if policy == .signed, case .failed(let refusal) = submission.file.signature {
            throw refusal
          }
          guard !submission.file.origins.isEmpty else {
            throw FileRefusal(reason: "it names no contract as its origin")
          }
          return Preview(submission, rules)
        } catch { throw PublicationRefusal(.invalid, error.words) }
      }
      let name = Preview.randomName()
      let expires = (now + Preview.lifetime).wholeSecond
      let client = request.origin.client?.subscriber
      guard !repository.context.disk.refusesStrangers else {
        throw PublicationRefusal(.noRoom, "the disk is nearly full; try another day")
      }
      // Counted apart: a preview that finds no room has cost as much.
      if let wait = try await repository.store.count(.preview, from: client, at: now) {
        throw PublicationRefusal(tooMany: "previews", retryAfter: wait)
      }
      do {
        try await repository.store.add(
          preview, named: name, request.body, until: expires, from: client, at: now)
      } catch let error as StoreError where error.code == .full {
        throw PublicationRefusal(.noRoom, "there is no room left")
      }
      repository.log.info("preview", ["sha256": preview.sha256, "peer": request.origin.peer])
      let url = "\(base)/preview/\(name)"
      let answer: JSONObject = [
        "url": url, "expires": expires.description, "sha256": preview.sha256,
        "signer": preview.signer, "contracts": preview.contracts, "warnings": preview.warnings,
      ]
      var response = try Response(.created, json: answer)
      response.fields.append(.location, url)
      return response.with(Self.fields)
    } catch let refusal as PublicationRefusal { return try refusal.response(repository.headers) }
  }

  /// Responds to `GET /preview/<name>` with the file, or for `text/html` with a page about it.
  ///
  /// - Throws: ``HTTPError`` with status 404, or the store's error.
  func get(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let name = String(decoding: parameters["secret"], as: UTF8.self)
    guard name.utf8.count == 22,
      let preview = try await repository.store.preview(named: name, at: repository.clock()),
      let bytes = try await shared.bytes(
        of: preview.sha256, for: request, { try await repository.store.bytes(ofPreview: name) })
    else { throw HTTPError(.notFound, "there is no such preview; it lasts for a day") }
    let accept = AcceptList(request.head, .accept)
    guard accept.prefers("text/html", to: "application/tokenscript+xml"),
      accept.prefers("text/html", to: "text/xml")
    else {
      let isTokenScript = accept.prefers("application/tokenscript+xml", to: "text/xml")
      var response = Response(
        .ok, fields: isTokenScript ? ResponseHeaders.tokenScript : ResponseHeaders.xml,
        body: .bytes(bytes))
      response.fields.append(.entityTag, EntityTag(preview.sha256).text)
      response.fields.append(.referrerPolicy, "no-referrer")
      return response.with(Self.fields)
    }
    let base = repository.base(for: request)
    let page = try await pages.run(
      for: request.origin.client, orRefuseWith: "too many pages are being made"
    ) {
      PreviewPage(preview: preview, bytes: bytes, url: base.map { "\($0)/preview/\(name)" }).html
    }
    return Response(page: page, .contract).with(Self.fields)
  }

  /// The fields of all responses: no cache keeps a preview, no search engine finds it, no other site learns its URL.
  private static let fields = ResponseHeaders.fields([
    .accessControlAllowOrigin: "*", .accessControlExposeHeaders: "ETag, Location",
    .cacheControl: "no-store", .vary: "Accept", FieldName("X-Robots-Tag"): "noindex",
  ])
}

/// The bytes of previews that are being sent: however many connections send the same, they are in memory once.
private final class SharedBytes: Sendable {
  private struct Reference: Sendable { weak let bytes: Bytes? }

  private let references = Lock<[String: Reference]>([:])
  /// One preview at a time is read from the store.
  private let turn = KeyedMutex<Bool>()

  /// Returns the bytes with a digest, in memory already or read.
  func bytes(
    of digest: String, for request: Request, _ read: @Sendable () async throws -> [UInt8]?
  ) async throws -> Bytes? {
    try await turn.withLock(true, for: request.origin.client) {
      if let bytes = references.withLock({ $0[digest]?.bytes }) { return bytes }
      guard let bytes = try await read().map({ Bytes($0) }) else { return nil }
      references.withLock { references in
        references = references.filter { $0.value.bytes != nil }
        references[digest] = Reference(bytes: bytes)
      }
      return bytes
    }
  }
}

/// The page about a preview: what the checks say, the URL to open on a phone, and the source.
struct PreviewPage {
  /// The facts about the file.
  let preview: Preview
  /// The file.
  let bytes: Bytes
  /// The preview's URL, or nil if it is not known.
  let url: String?

  private static let template = PageTemplate(Resource(tokenscript_preview_html()).bytes)

  /// The page as an HTML document, which needs no script.
  var html: String {
    let facts =
      preview.contracts.map { ("Chain \($0.chain)", $0.address) }
      + [("Version", preview.schema), ("Signer", preview.signer ?? "none")]
      + preview.outcomes.map { ($0.check, $0.words) } + [("SHA-256", preview.sha256)]
    let isLong = bytes.count > ContractPage.sourceLimit
    return PageStyle.contract.document(
      title: "Preview",
      Self.template.html([
        "url": url, "viewer": url.map(ContractPage.viewer),
        "code": url.flatMap { QRCode($0)?.svg(label: "QR code of the URL") },
        "facts": facts.map { ["name": $0, "value": $1] },
        "warnings": Markup.warnings(preview.warnings), "isLong": isLong,
        "source": isLong ? nil : String(decoding: bytes.array, as: UTF8.self),
      ]))
  }
}
