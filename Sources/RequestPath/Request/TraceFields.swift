package import Observability

/// Reads the trace of a request from its fields.
package enum TraceFields {
    /// The maximum length of a `tracestate` that a span adopts (W3C Trace Context 3.3.1.5).
    static let longestState = 512

    /// Returns the value of `traceparent`. `nil` if the head has none or several (W3C Trace Context 3.2.1), or if
    /// `Connection` names the field.
    @inline(__always)
    static func parent(of head: RequestHead) -> Slice? {
        guard let first = head.line(.traceParent) else { return nil }
        return self.onlyOne(first, of: head)
    }

    @inline(never)
    private static func onlyOne(_ first: Int, of head: RequestHead) -> Slice? {
        for index in (first + 1)..<max(first + 1, head.fields.count) where head.fields[index].role == .traceParent {
            return nil
        }
        return head.fields[first].isDropped ? nil : head.fields[first].value
    }

    /// Returns the trace context. Returns `nil` if the request has no well-formed context.
    package static func context(of head: RequestHead, _ base: Bytes) -> TraceContext? {
        self.parent(of: head).flatMap { TraceContext($0.bytes(in: base)) }
    }

    /// Writes the joined values of `tracestate` (W3C Trace Context 3.3.1.1) into `state`. Leaves `state` empty if they
    /// are longer than `longestState`, because no member may be cut.
    package static func readState(of head: RequestHead, _ base: Bytes, into state: inout [UInt8]) {
        state.removeAll(keepingCapacity: true)
        guard let first = head.line(.traceState) else { return }
        for index in first..<head.fields.count where head.fields[index].role == .traceState {
            let value = head.fields[index].value
            guard !value.isEmpty, !head.fields[index].isDropped else { continue }
            guard state.count + (state.isEmpty ? 0 : 1) + value.length <= self.longestState else {
                return state.removeAll(keepingCapacity: true)
            }
            if !state.isEmpty { state.append(0x2C) }
            state.append(contentsOf: value.bytes(in: base))
        }
    }
}
