public import ApptimistProtocol
public import Cryptography

/// The files that the service keeps for users and forums. They are encrypted on the way, and not from the service: an app
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
    content(try await exchange(.file(.read, directory ?? user, name)))
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
    content(try await exchange(.file(.lock, directory ?? user, name)))
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
    _ = try await exchange(.file(.write(content), directory ?? user, name))
  }

  /// Removes a file.
  ///
  /// - Parameters:
  ///   - name: the file.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Throws: `.file` with the service's code; `.interrupted` if the file may have been removed or not.
  public func remove(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) { _ = try await exchange(.file(.remove, directory ?? user, name)) }

  private func content(_ reply: DeviceReply) -> [UInt8] {
    if case .content(let content) = reply { content } else { [] }
  }
}
