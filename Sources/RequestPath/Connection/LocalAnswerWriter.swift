import Endpoints
package import NIOCore
import Vocabulary

/// Writes the head of an answer by the gateway as HTTP/1.
package enum LocalAnswerWriter {
    /// - Parameters:
    ///   - date: The value of `Date`.
    ///   - connection: The `Connection` field of the answer.
    package static func write(
        _ head: LocalAnswerHead,
        date: [UInt8],
        connection: ConnectionField,
        into buffer: inout ByteBuffer
    ) {
        let response = head.answer.response
        buffer.writeStaticString("HTTP/1.1 ")
        buffer.writeString(String(response.status))
        buffer.writeStaticString(" ")
        buffer.writeString(StatusText.phrase(response.status))
        buffer.writeStaticString("\r\nDate: ")
        buffer.writeBytes(date)
        buffer.writeStaticString("\r\n")
        // A line break could start another field or answer, so a field whose value contains one is omitted.
        for field in response.fields where !field.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) {
            buffer.writeString(field.name)
            buffer.writeStaticString(": ")
            buffer.writeString(field.value)
            buffer.writeStaticString("\r\n")
        }
        buffer.writeStaticString("X-Request-Id: ")
        head.requestID.withBytes { _ = buffer.writeBytes($0) }
        buffer.writeStaticString("\r\n")
        if head.answer.hasContent {
            buffer.writeStaticString("Content-Length: ")
            buffer.writeString(String(response.body.count))
            buffer.writeStaticString("\r\n")
        }
        switch connection {
        case .none: break
        case .close: buffer.writeStaticString("Connection: close\r\n")
        case .keepAlive: buffer.writeStaticString("Connection: keep-alive\r\n")
        }
        buffer.writeBytes(head.lines)
        buffer.writeStaticString("\r\n")
    }
}
