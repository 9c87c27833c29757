import Logging

/// Logs why a provider gave no usable answer. The audit stream does not record this.
final class OutageLog: Sendable {
    private let name: String
    private let logger: Logger
    /// Limits the lines. During an outage, every request that needs the provider fails.
    private let line = SeldomLine()

    /// - Parameter name: The provider's name, which begins each line.
    init(name: String, logger: Logger = Logger(label: "sallyport")) {
        self.name = name
        self.logger = logger
    }

    /// - Parameter reason: The failure, without a token or a claim's value.
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
