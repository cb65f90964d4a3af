internal import Ethereum
internal import Storage
internal import Platform

// What is published is decided in one transaction that holds the only row of `tokenscript_publishing`: on all nodes one
// publication comes after the other, and their changes are numbered in the order in which they can be seen.
extension ContractStore {
  /// The publications that have changed.
  struct Changes: Sendable {
    /// The number of the last change.
    var last: Int64
    /// The publications with their origins, in the order of their changes.
    var publications: [PublishedFile] = []

    /// Returns the files of the folder that aren't published.
    func filesBeside(_ files: [RepositoryFile]) -> [RepositoryFile] {
      let places = Set(publications.map(\.slot))
      return files.filter { file in
        PublishedFile.Slot(file.path).map { !places.contains($0) } ?? true
      }
    }
  }

  /// Reads the publications that have changed.
  ///
  /// - Parameter change: the last change that is known; 0 for all publications.
  /// - Throws: ``StoreError``.
  func publications(after change: Int64) async throws -> Changes {
    try await store.read(isOneQuery: true) { snapshot in
      var changes = Changes(last: change)
      try snapshot.forEach(
        """
        SELECT p.signer, p.schema, p.contract, p.chain, p.sha256, p.size, p.signed, p.accepted,
          p.withdrawn, p.origins, p.change, o.origin, o.origin_chain, o.name
        FROM tokenscript_published p JOIN tokenscript_published_origins o
          ON o.signer = p.signer AND o.schema = p.schema AND o.contract = p.contract
            AND o.chain = p.chain
        WHERE p.change > ? ORDER BY p.change, p.signer, p.schema, p.contract, p.chain, o.place
        """, change
      ) { row in
        var publication = try Self.publication(row)
        if let last = changes.publications.last, last.slot == publication.slot {
          publication = last
          changes.publications.removeLast()
        }
        publication.origins.append(
          TokenScriptFile.Contract(
            address: try row[11], name: try row[13], chain: try row[12], isOrigin: true))
        changes.publications.append(publication)
        changes.last = max(changes.last, try row[10])
      }
      return changes
    }
  }

  /// Reads the bytes of a publication, or returns nil if they have been replaced or withdrawn meanwhile.
  ///
  /// - Throws: ``StoreError``.
  func content(of publication: PublishedFile) async throws -> [UInt8]? {
    let slot = publication.slot
    return try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value(
        """
        SELECT content FROM tokenscript_published
        WHERE signer = ? AND schema = ? AND contract = ? AND chain = ? AND sha256 = ?
          AND content IS NOT NULL
        """, slot.signer, slot.schema, slot.origin.contract, slot.origin.chain,
        publication.digest)
    }
  }

  /// Decides on a file, and stores it if it is to be published.
  ///
  /// - Parameters:
  ///   - client: the client's ``ClientNetwork/subscriber``, or nil if it has none.
  /// - Throws: ``PublicationRefusal``, or ``StoreError``; then nothing is stored.
  func publish(
    _ submission: PublicationRules.Submission, at target: PublicationTarget,
    from client: String?, by rules: PublicationRules
  ) async throws -> PublicationRules.Decision {
    try await store.write(isolation: .rowLocks) { transaction in
      let change = try Self.lock(transaction) + 1
      let known = try Self.known(about: submission, at: target, from: client, rules, transaction)
      let decision = try rules.evaluate(submission, at: target, known)
      guard case .write(let publication, let isIssuers, _) = decision else { return decision }
      let wait = try count(.publication, from: client, at: rules.now, transaction)
      if let wait { throw PublicationRefusal(tooMany: "publications", retryAfter: wait) }
      try Self.insert(
        publication, submission.bytes, from: client, isIssuers: isIssuers, change, transaction)
      return decision
    }
  }

  /// Withdraws a signer's files for a contract in a version.
  ///
  /// - Parameters:
  ///   - publication: one of the files, which must be the present one at its place.
  /// - Returns: the files, which are withdrawn.
  /// - Throws: ``PublicationRefusal`` if the file was replaced, or ``StoreError``.
  func withdraw(_ publication: PublishedFile, for origin: OriginContract) async throws
    -> [PublishedFile]
  {
    try await store.write(isolation: .rowLocks) { transaction in
      let change = try Self.lock(transaction) + 1
      // Older files of the signer would come back otherwise.
      let own = try Self.publications(for: origin, transaction).filter {
        $0.slot.signer == publication.slot.signer && $0.slot.schema == publication.slot.schema
          && !$0.isWithdrawn
      }
      guard
        own.contains(where: { $0.slot == publication.slot && $0.digest == publication.digest })
      else { throw PublicationRefusal(.superseded, "the file was replaced meanwhile") }
      for file in own { try Self.withdraw(file, change, transaction) }
      return own
    }
  }

  /// Withdraws publications for the operator; those that have been replaced meanwhile stay.
  ///
  /// - Throws: ``StoreError``.
  func withdraw(_ publications: [PublishedFile]) async throws {
    guard !publications.isEmpty else { return }
    try await store.write(isolation: .rowLocks) { transaction in
      let change = try Self.lock(transaction) + 1
      for file in publications { try Self.withdraw(file, change, transaction) }
    }
  }

  // MARK: In a transaction

  /// Waits until no other publication is decided, and returns the number of the last change.
  static func lock(_ transaction: borrowing Transaction) throws -> Int64 {
    let change: Int64? = try transaction.value(
      """
      INSERT INTO tokenscript_publishing (id, change) VALUES (1, 0)
      ON CONFLICT (id) DO UPDATE SET change = tokenscript_publishing.change RETURNING change
      """)
    return change ?? 0
  }

  /// Records the number of the last change.
  static func record(_ change: Int64, _ transaction: borrowing Transaction) throws {
    try transaction.execute("UPDATE tokenscript_publishing SET change = ?", change)
  }

  private static func known(
    about submission: PublicationRules.Submission, at target: PublicationTarget,
    from client: String?, _ rules: PublicationRules, _ transaction: borrowing Transaction
  ) throws -> PublicationRules.Known {
    var known = PublicationRules.Known()
    let origins = submission.file.namedOrigins.map(\.origin)
    guard let signer = submission.file.signer?.publisher,
      origins.count <= PublicationQuota.originsOfFile
    else { return known }
    for origin in origins {
      known.publications[origin] = try publications(for: origin, transaction)
    }
    known.isWithdrawn = try transaction.value(
      "SELECT withdrawn FROM tokenscript_accepted WHERE signer = ? AND schema = ? AND sha256 = ?",
      signer, target.schema, submission.digest)
    guard let chain = target.chain(of: submission.file) else { return known }
    known.acceptedCount =
      try transaction.value(
        """
        SELECT count(*) FROM tokenscript_accepted
        WHERE signer = ? AND schema = ? AND contract = ? AND chain = ?
        """, signer, target.schema, target.contract, chain) ?? 0
    try transaction.forEach(
      """
      SELECT signer = ?1, coalesce(network = ?2, FALSE) AND issuer = ?3, issuer = 0, count(*),
        CAST(sum(size * (1 - withdrawn)) AS BIGINT), CAST(sum(origins) AS BIGINT)
      FROM tokenscript_published
      WHERE NOT (signer = ?1 AND schema = ?4 AND contract = ?5 AND chain = ?6) GROUP BY 1, 2, 3
      """, signer, client, rules.catalogue.isIssuers(submission.file), target.schema,
      target.contract,
      chain
    ) { row in
      let usage = PublicationQuota.Usage(files: try row[3], bytes: try row[4], origins: try row[5])
      known.inAll += usage
      if try row[0] { known.ofSigner += usage }
      if try row[1] { known.ofClient += usage }
      if try row[2] { known.ofStrangers += usage }
    }
    return known
  }

  /// Reads the publications that name a contract as their origin, without their origins.
  private static func publications(
    for origin: OriginContract, _ transaction: borrowing Transaction
  ) throws -> [PublishedFile] {
    try transaction.all(
      """
      SELECT p.signer, p.schema, p.contract, p.chain, p.sha256, p.size, p.signed, p.accepted,
        p.withdrawn, p.origins
      FROM tokenscript_published_origins o JOIN tokenscript_published p
        ON o.signer = p.signer AND o.schema = p.schema AND o.contract = p.contract
          AND o.chain = p.chain
      WHERE o.origin = ? AND o.origin_chain = ?
      """, origin.contract, origin.chain
    ) { try publication($0) }
  }

  private static func publication(_ row: borrowing Row) throws -> PublishedFile {
    PublishedFile(
      slot: PublishedFile.Slot(
        signer: try row[0], schema: try row[1],
        origin: OriginContract(try row[2], on: try row[3])),
      digest: try row[4], size: try row[5],
      signed: (try row[6] as Int64?).map(Timestamp.init(seconds:)),
      accepted: Timestamp(seconds: try row[7]), isWithdrawn: try row[8], originCount: try row[9])
  }

  /// Stores a publication in the place of the one that is there. That one stays charged to its client unless it grows.
  private static func insert(
    _ publication: PublishedFile, _ bytes: [UInt8]?, from client: String?, isIssuers: Bool,
    _ change: Int64, _ transaction: borrowing Transaction
  ) throws {
    let slot = publication.slot
    try transaction.execute(
      """
      INSERT INTO tokenscript_published (signer, schema, contract, chain, sha256, size, signed,
        accepted, withdrawn, network, issuer, origins, change, content)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (signer, schema, contract, chain) DO UPDATE SET sha256 = excluded.sha256,
        network = CASE WHEN excluded.size > tokenscript_published.size THEN excluded.network
          ELSE tokenscript_published.network END,
        size = excluded.size, signed = excluded.signed, accepted = excluded.accepted,
        withdrawn = excluded.withdrawn, issuer = excluded.issuer, origins = excluded.origins,
        change = excluded.change, content = excluded.content
      """, slot.signer, slot.schema, slot.origin.contract, slot.origin.chain,
      publication.digest, publication.size, publication.signed?.seconds,
      publication.accepted.seconds, publication.isWithdrawn, client, isIssuers,
      publication.originCount, change, publication.isWithdrawn ? nil : bytes)
    try transaction.execute(
      """
      DELETE FROM tokenscript_published_origins
      WHERE signer = ? AND schema = ? AND contract = ? AND chain = ?
      """, slot.signer, slot.schema, slot.origin.contract, slot.origin.chain)
    for (number, origin) in publication.origins.enumerated() {
      try transaction.execute(
        "INSERT INTO tokenscript_published_origins VALUES (?, ?, ?, ?, ?, ?, ?, ?)", slot.signer,
        slot.schema, slot.origin.contract, slot.origin.chain, number, origin.address,
        origin.chain, origin.name)
    }
    if publication.signed == nil {
      try transaction.execute(
        "INSERT INTO tokenscript_accepted VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        slot.signer, slot.schema, publication.digest, slot.origin.contract,
        slot.origin.chain, publication.isWithdrawn)
    }
    try record(change, transaction)
  }

  private static func withdraw(
    _ publication: PublishedFile, _ change: Int64, _ transaction: borrowing Transaction
  ) throws {
    let slot = publication.slot
    try transaction.execute(
      """
      UPDATE tokenscript_published SET withdrawn = 1, content = NULL, change = ?
      WHERE signer = ? AND schema = ? AND contract = ? AND chain = ? AND sha256 = ?
      """, change, slot.signer, slot.schema, slot.origin.contract, slot.origin.chain,
      publication.digest)
    try transaction.execute(
      """
      UPDATE tokenscript_accepted SET withdrawn = 1 WHERE signer = ? AND schema = ? AND sha256 = ?
      """, slot.signer, slot.schema, publication.digest)
    try record(change, transaction)
  }
}
