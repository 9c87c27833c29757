import Logging

/// Logs what makes a provider's answer count as none, where no refusal is recorded.
final class OutageLog: Sendable {
    private let name: String
    private let logger: Logger
    /// While the provider is away, every request that needs it is such a one.
    private let line = SeldomLine()

    /// - Parameter name: The provider's, with which the line begins.
    init(name: String, logger: Logger = Logger(label: "sallyport")) {
        self.name = name
        self.logger = logger
    }

    /// - Parameter reason: What failed, without a token or a claim's value.
    func note(_ reason: String) {
        guard let unsaid = self.line.due() else { return }
        self.logger.warning(
            """
            \(self.name): it gave no answer that can be used, so requests may be answered 503 (provider.unavailable): \
            \(reason); \(unsaid) more since the last such line
            """
        )
    }
}
