public import ApptimistProtocol
public import Cryptography

/// The files that the service keeps for users and forums. They are boxed on the way, and not from the service: an app
/// encrypts first what the service is not to read.
extension Device {
  /// Reads a file.
  ///
  /// - Parameters:
  ///   - name: the file.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Returns: the content.
  /// - Throws: `.file` with the service's code, `.doesNotOpen`.
  public func read(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) -> [UInt8] {
    let pdu = PDU.read(PDU.Read(directory: directory ?? user, filename: name.bytes))
    return try content(try await ask(DeviceRequest(file: pdu, isRepeatable: true)))
  }

  /// Locks a file and reads it. Nobody else can lock, write or remove the file until this device writes or removes it,
  /// disconnects, or the lease ends. Locking it again renews the lease.
  ///
  /// - Parameters:
  ///   - name: the file, which need not exist.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Returns: the content, empty if there is no file.
  /// - Throws: `.file` with the service's code, such as `.locked`; `.interrupted`, after which nothing is locked.
  public func lock(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) -> [UInt8] {
    let pdu = PDU.lock(PDU.Lock(directory: directory ?? user, filename: name.bytes))
    return try content(try await ask(DeviceRequest(file: pdu, isRepeatable: false)))
  }

  /// Writes a file, and waits until it is on the service's disk.
  ///
  /// - Parameters:
  ///   - content: the whole content.
  ///   - name: the file, which is made if it doesn't exist.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Throws: `.file` with the service's code; `.interrupted` if the file may have been written or not;
  ///   `.unsendable` if the content is too long.
  public func write(
    _ content: [UInt8], to name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) {
    guard content.count <= options.dataLimit else { throw .unsendable }
    let pdu = PDU.write(PDU.Write(directory: directory ?? user, filename: name.bytes))
    let box = serviceBox.seal(content, nonce: service.dataNonce)
    try check(try await ask(DeviceRequest(file: pdu, data: box, isRepeatable: false)))
  }

  /// Removes a file.
  ///
  /// - Parameters:
  ///   - name: the file.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Throws: `.file` with the service's code; `.interrupted` if the file may have been removed or not.
  public func remove(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) {
    let pdu = PDU.remove(PDU.Remove(directory: directory ?? user, filename: name.bytes))
    try check(try await ask(DeviceRequest(file: pdu, isRepeatable: false)))
  }

  /// Returns the content in a reply.
  func content(_ reply: DeviceReply) throws(DeviceError) -> [UInt8] {
    let box = try check(reply)
    guard let content = serviceBox.open(box, nonce: service.dataNonce) else { throw .doesNotOpen }
    return content
  }

  /// Returns the boxed data of a reply, unless that reports an error.
  @discardableResult
  private func check(_ reply: DeviceReply) throws(DeviceError) -> [UInt8] {
    guard case .file(let code, let box) = reply else { throw .doesNotOpen }
    guard code != .done else { return box }
    let words = serviceBox.open(box, nonce: service.dataNonce) ?? []
    throw .file(code, String(decoding: words, as: UTF8.self))
  }
}
