package import Time

/// A message on its way to a device's push service: a row of the outbox.
package struct Push: Sendable, Hashable, Identifiable {
  package let id: Int64
  package let device: DeviceID
  /// The UUID that the push service knows the push by, the same at each attempt.
  package let apnsID: String
  package let message: MessageID
  package let sender: UserName
  package let text: MessageText
  package let isAddRequest: Bool
  /// The number of unread messages, this one included.
  package let badge: Int
  package let expires: Timestamp
  /// The number of attempts, this one included.
  package let attempts: Int

  package init(
    id: Int64, device: DeviceID, apnsID: String, message: MessageID, sender: UserName,
    text: MessageText, isAddRequest: Bool, badge: Int, expires: Timestamp, attempts: Int
  ) {
    self.id = id
    self.device = device
    self.apnsID = apnsID
    self.message = message
    self.sender = sender
    self.text = text
    self.isAddRequest = isAddRequest
    self.badge = badge
    self.expires = expires
    self.attempts = attempts
  }
}
