package import Vocabulary

extension Result where Failure == NotDone {
    /// What an act came to, so that a test can look at either.
    package init(_ act: @autoclosure () async throws(NotDone) -> Success) async {
        do {
            self = .success(try await act())
        } catch {
            self = .failure(error)
        }
    }

    /// The outcome of a refusal or an outage.
    package static func refused(_ reason: Reason, detail: String? = nil) -> Self {
        .failure(NotDone(reason, detail: detail))
    }

    /// The value; nil if there is none.
    package var value: Success? { try? self.get() }

    /// Why there is no value; nil if there is one.
    package var error: NotDone? {
        if case .failure(let error) = self { error } else { nil }
    }

    /// Why it is refused; nil for an outage and for a value.
    package var cause: Reason? { self.error.flatMap { $0.isUnavailable ? nil : $0.reason } }

    /// Of a refusal.
    package var detail: String? { self.error.flatMap { $0.isUnavailable ? nil : $0.detail } }

    /// Why there is no answer; nil if there is one.
    package var outage: String? { self.error.flatMap { $0.isUnavailable ? $0.detail ?? "" : nil } }
}
