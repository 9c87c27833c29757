package import Vocabulary

/// The refusals of a protocol whose clients parse no problem documents. An endpoint names it for what is refused before
/// its handler runs: a wrong method, too large a body, a body that comes too slowly.
package struct RefusalEnvelope: Sendable {
    private let render: @Sendable (_ reason: Reason, _ requestID: String) -> EndpointResponse

    /// - Parameter render: Makes the answer to a request that is refused for the reason. Fields that only the refusal
    ///   knows, such as `Allow`, are added to it.
    package init(_ render: @escaping @Sendable (_ reason: Reason, _ requestID: String) -> EndpointResponse) {
        self.render = render
    }

    /// The answer to a request that is refused for `reason`.
    package func response(_ reason: Reason, requestID: String) -> EndpointResponse { self.render(reason, requestID) }
}
