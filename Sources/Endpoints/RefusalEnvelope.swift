package import Vocabulary

/// The refusals of a protocol whose clients parse no problem documents. An endpoint names it for what is refused before
/// its handler runs: a wrong method, too large a body, a body that comes too slowly.
package typealias RefusalEnvelope = @Sendable (_ reason: Reason, _ requestID: String) -> EndpointResponse
