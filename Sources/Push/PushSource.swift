package import Storage
package import Platform

/// The part of a service that its pushes need.
package protocol PushSource: Sendable {
  /// Makes the payload of a push, in the form for the kind of its address, when it is sent.
  ///
  /// - Returns: nil if it can't be made: then the push is dropped.
  func payload(of push: Push) -> PushPayload?

  /// Ends the address of a push, if it is still the device's, with what else waits for the device.
  ///
  /// The push itself is settled in the same transaction, but not touched before: so this locks the service's own rows first,
  /// as whoever queues does.
  ///
  /// - Parameters:
  ///   - push: the push.
  ///   - moment: the moment before which the address was bound if it is gone, or nil if it is in any case.
  ///   - transaction: the transaction.
  func end(_ push: Push, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction)
    throws

  /// Returns the names that `GET /debug/pushes` shows for a push and its device.
  func labels(of push: Push) -> (id: String, device: String)
}

extension PushSource {
  /// Returns the push's UUID and the whole address.
  package func labels(of push: Push) -> (id: String, device: String) {
    (push.pushID, push.address.text)
  }
}
