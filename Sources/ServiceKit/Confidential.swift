/// A service whose requests carry secrets such as passwords.
///
/// It isn't served in plain HTTP on an address that other machines reach, unless there is a proxy that may have ended the
/// TLS connection.
package protocol Confidential: Service {}
