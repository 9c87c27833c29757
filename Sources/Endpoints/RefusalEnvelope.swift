package import Vocabulary

/// Writes refusals for clients that do not parse problem documents (RFC 9457). An endpoint uses it for requests that
/// are refused before its handler runs: a wrong method, a body that is too large or arrives too slowly.
package typealias RefusalEnvelope = @Sendable (_ reason: Reason, _ requestID: String) -> EndpointResponse
