package import Vocabulary

/// Makes refusals for a protocol whose clients parse no problem documents. An endpoint uses it for requests that are
/// refused before its handler runs: a wrong method, a body that is too large or arrives too slowly.
package typealias RefusalEnvelope = @Sendable (_ reason: Reason, _ requestID: String) -> EndpointResponse
