internal import Cryptography
internal import Ethereum
internal import Platform

/// Decides whether a file is published, from its meaning, the operator's files and the stored ones, without I/O.
struct PublicationRules: Sendable {
  /// The time that a signer's clock may be ahead.
  static let clockTolerance = Duration.seconds(300)

  /// A file to be published.
  struct Submission: Sendable {
    /// The meaning of the file, with all findings.
    let file: TokenScriptFile
    /// The bytes.
    let bytes: [UInt8]
    /// The SHA-256 of the bytes.
    let digest: SHA256.Digest
    /// True if the file has a signing time that its signature doesn't cover, or that is no date.
    let hasUnsignedTime: Bool
  }

  /// The facts in the store that matter for a file.
  struct Known: Sendable {
    /// The publications for each of its origins.
    var publications: [OriginContract: [PublishedFile]] = [:]
    /// True if the signer has withdrawn these bytes, which have no signing time; nil if they were never accepted.
    var isWithdrawn: Bool?
    /// The number of files without a signing time that were accepted at the target.
    var acceptedCount = 0
    /// The room that others of the signer's files take: all but the one at the target.
    var ofSigner = PublicationQuota.Usage()
    /// The room that others of the client's files take, either those of issuers or those of strangers.
    var ofClient = PublicationQuota.Usage()
    /// The room that the other files of strangers take.
    var ofStrangers = PublicationQuota.Usage()
    /// The room that all other files take.
    var inAll = PublicationQuota.Usage()
  }

  /// The decision on a file that isn't refused.
  enum Decision: Sendable {
    /// The same bytes are there already, at this path.
    ///
    /// The publication is nil for a file of the operator's.
    case present(RepositoryPath, PublishedFile?)
    /// The file is to be stored; whether its signer is the issuer of all its contracts; whether it is the signer's first
    /// at this target.
    case write(PublishedFile, isIssuers: Bool, isFirst: Bool)
  }

  /// The policy of the configuration.
  let policy: PublicationPolicy
  /// The rules of the configuration, which require the signature.
  let catalogue: RepositoryRules
  /// The index in service; its files of the operator count.
  let index: ContractIndex
  /// The present time.
  let now: Timestamp
  /// True if so little of the disk is free that only known signers publish.
  var refusesStrangers = false
  /// How many users one address stands for: the room of a client is multiplied by it.
  var usersPerAddress = 1

  /// Decides on a file.
  ///
  /// - Throws: ``PublicationRefusal``.
  func evaluate(
    _ submission: Submission, at target: PublicationTarget, _ known: Known
  ) throws(PublicationRefusal) -> Decision {
    let file = submission.file
    if case .failed(let refusal) = file.signature {
      throw PublicationRefusal(.invalid, refusal.words)
    }
    guard let signer = file.signer else {
      throw PublicationRefusal(.invalid, "its signer is unknown")
    }
    let published = OriginContract(target.contract, on: try chain(of: file, at: target))
    let origins = file.namedOrigins.map(\.origin)
    guard origins.count <= PublicationQuota.originsOfFile else {
      throw PublicationRefusal(
        .invalid,
        "the file names more than \(PublicationQuota.originsOfFile) contracts as its origins")
    }
    for origin in origins {
      guard !origin.isNativeCurrency else {
        throw PublicationRefusal(
          .notAuthorized,
          "\(origin.contract) stands for the chain's own currency, for which nobody publishes over HTTP",
          signer: signer.publisher, known: [])
      }
    }
    for origin in origins { try authorize(signer, for: origin, known) }
    try checkTime(of: signer, submission)
    if let refusal = catalogue.evaluate(file).refusal {
      throw PublicationRefusal(.invalid, refusal.words)
    }
    let isOwn = { (publication: PublishedFile) in
      publication.slot.schema == target.schema && publication.slot.signer == signer.publisher
    }
    let own = origins.flatMap { known.publications[$0] ?? [] }.filter(isOwn)
    if known.isWithdrawn == true
      || own.contains(where: { $0.isWithdrawn && $0.digest == submission.digest })
    {
      throw PublicationRefusal(.withdrawn, "this file was withdrawn by its signer")
    }
    let here = (known.publications[published] ?? []).filter { isOwn($0) && !$0.isWithdrawn }
    if let same = here.first(where: { $0.digest == submission.digest }) {
      return .present(same.path, same)
    }
    let isOperators = { (candidate: Candidate) in
      candidate.meaning.schema == target.schema && candidate.signer?.publisher == signer.publisher
    }
    let operatorsHere = candidates(for: published).filter(isOperators)
    if let same = operatorsHere.first(where: { $0.content.digest == submission.digest }) {
      return .present(same.file.path, nil)
    }
    let accepted = try acceptance(
      of: signer, known, after: own, origins.flatMap { candidates(for: $0) }.filter(isOperators))
    let publication = PublishedFile(
      slot: PublishedFile.Slot(signer: signer.publisher, schema: target.schema, origin: published),
      digest: submission.digest, size: submission.bytes.count, signed: signer.time,
      accepted: accepted, origins: file.namedOrigins, originCount: origins.count)
    if refusesStrangers, own.isEmpty, !catalogue.isIssuers(file) {
      throw PublicationRefusal(
        .noRoom, "the disk is nearly full; only signers with files here publish now")
    }
    let isIssuers = catalogue.isIssuers(file)
    try checkQuota(of: publication, signer, known, replacing: own, isIssuers: isIssuers)
    return .write(
      publication, isIssuers: isIssuers,
      isFirst: here.isEmpty && operatorsHere.isEmpty)
  }

  /// Checks that the place is the file's, and returns its chain.
  private func chain(
    of file: TokenScriptFile, at target: PublicationTarget
  ) throws(PublicationRefusal) -> ChainID {
    guard file.schema == target.schema else {
      throw PublicationRefusal(
        .invalid, "the file is in the namespace \(file.schema), the URL names \(target.schema)")
    }
    guard let chains = file.originChains[target.contract] else {
      throw PublicationRefusal(
        .invalid, "the file does not name \(target.contract) as its origin")
    }
    guard let chain = target.chain(of: file) else {
      throw PublicationRefusal(
        .invalid, "the file names the contract on several chains; the URL must name one of them")
    }
    guard chains.contains(chain) else {
      throw PublicationRefusal(
        .invalid, "the file does not name \(target.contract) on chain \(chain)")
    }
    return chain
  }

  /// Checks that a signer may publish for a contract.
  private func authorize(
    _ signer: TokenScriptFile.Signer, for origin: OriginContract, _ known: Known
  ) throws(PublicationRefusal) {
    let keys = keys(of: origin, known)
    if keys.contains(signer.key) || keys.contains(signer.publisher) { return }
    if keys.isEmpty, candidates(for: origin).isEmpty, policy == .open { return }
    throw PublicationRefusal(
      .notAuthorized,
      "the signer does not stand for \(origin.contract) on chain \(origin.chain)",
      signer: signer.publisher, known: keys.sorted())
  }

  /// The identifiers that stand for a contract: signers of files served or withdrawn, the deployer, the owner, and those
  /// with its roles.
  private func keys(of origin: OriginContract, _ known: Known) -> Set<String> {
    var keys = Set(candidates(for: origin).compactMap { $0.signer?.publisher })
    keys.formUnion((known.publications[origin] ?? []).map(\.slot.signer))
    let answer = catalogue.answers[origin]
    for issuer in [catalogue.deployers[origin.contract], answer?.owner] {
      if let issuer { keys.insert(issuer.checksummed) }
    }
    keys.formUnion((answer?.roles ?? [:]).filter(\.value).keys.map(\.checksummed))
    let marks = editions(of: origin).flatMap(\.marks)
    if marks.contains(where: { !$0.isPublishers && $0.chains.contains(origin.chain) }) {
      // A mark of the operator's has no verified key, and nobody may replace its file.
      keys.insert("the operator")
    }
    return keys
  }

  /// The operator's files for a contract.
  private func candidates(for origin: OriginContract) -> [Candidate] {
    editions(of: origin).flatMap(\.candidates).filter {
      $0.file.publication == nil && $0.chains.contains(origin.chain)
    }
  }

  private func editions(of origin: OriginContract) -> [Edition] {
    index.editions[ContractKey(origin.contract)] ?? []
  }

  private func checkTime(
    of signer: TokenScriptFile.Signer, _ submission: Submission
  ) throws(PublicationRefusal) {
    if signer.time == nil, submission.hasUnsignedTime {
      throw PublicationRefusal(
        .invalid, "it has a signing time (XAdES) that the signature does not cover")
    }
    if let time = signer.time, time > now + Self.clockTolerance {
      throw PublicationRefusal(.invalid, "it was signed in the future, at \(time)")
    }
  }

  /// Returns the time at which a file is accepted, if it is newer than its signer's other ones.
  private func acceptance(
    of signer: TokenScriptFile.Signer, _ known: Known, after own: [PublishedFile],
    _ operators: [Candidate]
  ) throws(PublicationRefusal) -> Timestamp {
    guard known.isWithdrawn == nil else {
      throw PublicationRefusal(.superseded, "its signer has published other files since")
    }
    // A signing time that is still to come counts here, though it is no `Last-Modified` yet.
    let times = own.map(\.time) + operators.map { max($0.modified, $0.signer?.time ?? $0.modified) }
    let newest = times.max()
    if let time = signer.time {
      if let newest, time <= newest {
        throw PublicationRefusal(
          .superseded,
          "it was signed at \(time), no later than its signer’s present file of \(newest)")
      }
      return now.wholeSecond
    }
    guard own.allSatisfy({ $0.signed == nil }), operators.allSatisfy({ $0.signer?.time == nil })
    else {
      throw PublicationRefusal(
        .superseded,
        "it has no signing time, which its signer’s present file has; sign it with awd repo sign")
    }
    guard known.acceptedCount < PublicationQuota.digests else {
      throw PublicationRefusal(
        .noRoom,
        "\(PublicationQuota.digests) files without a signing time were accepted here; "
          + "sign one with a time, as awd repo sign does")
    }
    guard let newest else { return now.wholeSecond }
    return max(now.wholeSecond, (newest + .seconds(1)).wholeSecond)
  }

  private func checkQuota(
    of publication: PublishedFile, _ signer: TokenScriptFile.Signer, _ known: Known,
    replacing own: [PublishedFile], isIssuers: Bool
  ) throws(PublicationRefusal) {
    let file = PublicationQuota.Usage(
      files: 1, bytes: publication.size, origins: publication.originCount)
    let present = own.first { $0.slot == publication.slot }
    let single = PublicationQuota.single
    let limit = "\(single.files) files, \(single.bytes >> 20) MiB and \(single.origins) contracts"
    // A file that doesn't grow has its room already.
    if let present, !present.isWithdrawn, publication.size <= present.size,
      publication.originCount <= present.originCount
    {
      return
    }
    guard known.ofSigner.hasRoom(for: file, within: single) else {
      throw PublicationRefusal(
        .noRoom, "a key may have \(limit) here", signer: signer.publisher)
    }
    guard known.ofClient.hasRoom(for: file, within: single.times(usersPerAddress)) else {
      throw PublicationRefusal(
        .noRoom, "a network may publish \(limit) here", signer: signer.publisher)
    }
    guard present == nil else { return }
    guard known.inAll.hasRoom(for: file, within: PublicationQuota.inAll),
      isIssuers || known.ofStrangers.hasRoom(for: file, within: PublicationQuota.strangers)
    else { throw PublicationRefusal(.noRoom, "the repository accepts no more files") }
  }
}

/// The configuration's answer to who may publish over HTTP.
enum PublicationPolicy: String, Sendable, CaseIterable {
  /// Nobody.
  case off
  /// The keys that stand for the contract already: by a file that is served, or as its deployer.
  case known
  /// They, and for a contract without any file anybody.
  case open
}
