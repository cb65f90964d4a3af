internal import Cryptography
internal import Platform

/// One file of the repository as one scan found it.
final class RepositoryFile: Sendable {
  /// The path of the file.
  let path: RepositoryPath
  /// The SHA-256 of the bytes, or nil if the file could not be read.
  let digest: SHA256.Digest?
  /// The bytes, or nil if the file could not be read or is not served.
  let content: Content?
  /// The number of bytes.
  let size: Int
  /// The time of the last change of the content.
  let modified: Timestamp
  /// The status that no other bytes at the path have, or nil if there is none.
  let status: FileStatus?
  /// The meaning of the file, or the reason why it has none.
  let reading: Result<TokenScriptFile, FileRefusal>
  /// The fault of newer bytes at the path, if this is the last good version.
  let replacedBy: FileRefusal?
  /// The publication, or nil for a file of the folder.
  let publication: Publication?

  /// Makes a file.
  init(
    path: RepositoryPath, digest: SHA256.Digest? = nil, content: Content? = nil, size: Int = 0,
    modified: Timestamp = Timestamp(seconds: 0), status: FileStatus? = nil,
    reading: Result<TokenScriptFile, FileRefusal>, replacedBy: FileRefusal? = nil,
    publication: Publication? = nil
  ) {
    (self.path, self.digest, self.content, self.size) = (path, digest, content, size)
    (self.modified, self.status, self.reading) = (modified, status, reading)
    (self.replacedBy, self.publication) = (replacedBy, publication)
  }

  /// Makes the file of a publication.
  ///
  /// - Parameters:
  ///   - publication: the publication.
  ///   - content: the bytes, or nil if they are not served.
  ///   - reading: the meaning of the bytes.
  convenience init(
    _ publication: Publication, content: Content?, reading: Result<TokenScriptFile, FileRefusal>
  ) {
    self.init(
      path: publication.path, digest: publication.digest, content: content, size: publication.size,
      modified: publication.accepted, reading: reading, publication: publication)
  }

  /// Makes the mark of a publication that was withdrawn.
  convenience init(mark publication: Publication) {
    let file = TokenScriptFile(
      schema: publication.place.schema, root: "token", contracts: publication.origins)
    self.init(publication, content: nil, reading: .success(file))
  }

  /// The publication that an earlier release has made of a file below `published`; nil for a file whose path isn't its
  /// signer's, or that isn't served.
  var publicationInFolder: Publication? {
    guard let place = Publication.Place(path), let digest, case .success(let file) = reading,
      let signer = file.signer, signer.key == place.signer, file.schema == place.schema
    else { return nil }
    let isMark = path.kind == .gone
    guard isMark || content != nil else { return nil }
    let origins = file.namedOrigins
    return Publication(
      place: place, digest: digest, size: size, signed: signer.time, accepted: modified,
      isWithdrawn: isMark, origins: origins, originCount: origins.count)
  }

  /// The refusal of a file whose check against the schema was stopped, or nil.
  var overrun: FileRefusal? {
    guard case .success(let file) = reading, case .failed(let refusal) = file.validity,
      refusal.reason == SchemaWorkers.tooMuchWork
    else { return nil }
    return refusal
  }

  /// Returns this version for further service, although newer bytes at the path are no XML.
  ///
  /// - Parameter refusal: the fault of the newer bytes.
  func kept(because refusal: FileRefusal) -> RepositoryFile {
    RepositoryFile(
      path: path, digest: digest, content: content, size: size, modified: modified,
      status: status, reading: reading, replacedBy: refusal)
  }
}
