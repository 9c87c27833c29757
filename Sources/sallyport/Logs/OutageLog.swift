import Logging

/// Logs why a provider gave no usable answer.
final class OutageLog: Sendable {
    private let name: String
    private let logger: Logger
    /// Limits the lines. During an outage, every request that needs the provider fails.
    private let line = SeldomLine()

    /// - Parameter name: The provider's name, with which each line begins.
    init(name: String, logger: Logger = Logger(label: "sallyport")) {
        self.name = name
        self.logger = logger
    }

    /// - Parameter reason: What failed. Must not contain tokens or values of claims.
    func note(_ reason: String) {
        guard let unsaid = self.line.due() else { return }
        self.logger.warning(
            """
            \(self.name): it gave no usable answer, so requests may get 503 (provider.unavailable): \
            \(reason); \(unsaid) more since the last such line
            """
        )
    }
}
