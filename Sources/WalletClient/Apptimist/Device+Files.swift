public import ApptimistProtocol
public import Cryptography

/// The files that the service keeps for users and forums. They are boxed on the way, and not from the service:
/// what it is not to read, the app encrypts before.
extension Device {
  /// Reads a file.
  ///
  /// - Parameters:
  ///   - name: the file.
  ///   - directory: the user or forum that it belongs to; nil: the user's own.
  /// - Returns: its content.
  /// - Throws: `.file` with the service's code, `.doesNotOpen`.
  public func read(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) -> [UInt8] {
    let pdu = PDU.read(PDU.Read(directory: directory ?? user, filename: name.bytes))
    return try content(try await ask(DeviceRequest(file: pdu, isRepeatable: true)))
  }

  /// Locks a file and reads it: until this device writes or removes it, disconnects, or the lease ends, nobody else
  /// can lock, write or remove it. Threading again renews the lease.
  ///
  /// - Parameters:
  ///   - name: the file, which need not exist.
  ///   - directory: the user or forum that it belongs to; nil: the user's own.
  /// - Returns: its content, empty if there is none.
  /// - Throws: `.file` with the service's code, `.locked` for one; `.interrupted`: then nothing is locked.
  public func lock(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) -> [UInt8] {
    let pdu = PDU.lock(PDU.Lock(directory: directory ?? user, filename: name.bytes))
    return try content(try await ask(DeviceRequest(file: pdu, isRepeatable: false)))
  }

  /// Writes a file, and waits until it is on the service's disk.
  ///
  /// - Parameters:
  ///   - content: all of it.
  ///   - name: the file; made if it isn't there.
  ///   - directory: the user or forum that it belongs to; nil: the user's own.
  /// - Throws: `.file` with the service's code; `.interrupted` if it may have been written or not;
  ///   `.unsendable` if it is too long.
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
  ///   - directory: the user or forum that it belongs to; nil: the user's own.
  /// - Throws: `.file` with the service's code; `.interrupted` if it may have been removed or not.
  public func remove(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) {
    let pdu = PDU.remove(PDU.Remove(directory: directory ?? user, filename: name.bytes))
    try check(try await ask(DeviceRequest(file: pdu, isRepeatable: false)))
  }

  /// The content that an answer brings.
  func content(_ answer: DeviceRequest.Answer) throws(DeviceError) -> [UInt8] {
    let box = try check(answer)
    guard let content = serviceBox.open(box, nonce: service.dataNonce) else { throw .doesNotOpen }
    return content
  }

  /// The boxed data of an answer that says that all is well.
  @discardableResult
  private func check(_ answer: DeviceRequest.Answer) throws(DeviceError) -> [UInt8] {
    guard case .file(let code, let box) = answer else { throw .doesNotOpen }
    guard code != .done else { return box }
    let words = serviceBox.open(box, nonce: service.dataNonce) ?? []
    throw .file(code, String(decoding: words, as: UTF8.self))
  }
}
