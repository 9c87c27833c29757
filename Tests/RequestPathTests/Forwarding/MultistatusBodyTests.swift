import NIOCore
import RequestPath
import Testing

@Suite("Hrefs of WebDAV below a prefix")
struct MultistatusBodyTests {
    /// What the client gets, if the bytes come in parts of this many.
    private func read(_ text: String, by count: Int) throws -> String {
        let body = MultistatusBody(try ReferencesTests.references())
        var out = ByteBuffer()
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: count) {
            bytes[start..<min(bytes.count, start + count)].withUnsafeBufferPointer { body.read($0, into: &out) }
        }
        body.end(into: &out)
        return String(buffer: out)
    }

    @Test(
        "They become public in the documents of all servers, wherever these are divided",
        arguments: [
            "<?xml version='1.0' encoding='utf-8'?>\n<ns0:multistatus xmlns:ns0=\"DAV:\"><ns0:response><ns0:href>@/a%20b/</ns0:href></ns0:response></ns0:multistatus>",
            "<?xml version=\"1.0\"?>\n<D:multistatus xmlns:D=\"DAV:\" xmlns:ns0=\"DAV:\">\n<D:response xmlns:lp1=\"DAV:\">\n<D:href>@/x</D:href>\n<D:propstat><D:prop><lp1:resourcetype/></D:prop></D:propstat></D:response><D:response><D:href>@/y&amp;z</D:href></D:response></D:multistatus>",
            "<multistatus xmlns=\"DAV:\"><response><href>\n  @/x\n</href><propstat><prop><current-user-principal><href>@/ada/</href></current-user-principal></prop></propstat></response></multistatus>",
            "<!-- a <b> --><d:multistatus xmlns:d='DAV:' a='>'><d:href a=\"/>\" >@/</d:href ></d:multistatus>",
            // What only resembles a reference.
            "<d:multistatus xmlns:d='DAV:'><!-- <d:href>/x</d:href> --><![CDATA[<d:href>/x</d:href>]]><e:href>/x</e:href><d:hrefs>/x</d:hrefs><d:href/>/x<d:href></d:href><?a <d:href>/x?><d:a b='<d:href>/x'/></d:multistatus>",
            "<d:multistatus xmlns:d='DAV:'><d:href>x</d:href><d:href>//other.example/</d:href><d:href>https://other.example/x</d:href><d:href>/app/x</d:href></d:multistatus>",
            "<d:multistatus xmlns:d='DAV:'><d:href>https://app.example.com@/x</d:href></d:multistatus>",
            "<html><href>/x</href></html>", "<xmultistatus><xhref>/x</xhref></xmultistatus>", "text", "", "<", "<!--",
            "<a",
            "<d:multistatus xmlns:d='DAV:'><d:href>@/x", "<!DOCTYPE x><multistatus><href>@/x</href>",
        ]
    )
    func documents(text: String) throws {
        let expected = text.replacing("@", with: "/app")
        for count in 1...max(1, text.utf8.count) {
            #expect(try self.read(text.replacing("@", with: ""), by: count) == expected, "by \(count)")
        }
    }

    @Test("The app's own origin becomes the public one")
    func origins() throws {
        let text = "<multistatus><href>http://127.0.0.1:9000/x</href><href>http://app.example.com</href></multistatus>"
        let expected =
            "<multistatus><href>https://app.example.com/app/x</href><href>https://app.example.com/app</href></multistatus>"
        #expect(try self.read(text, by: 1000) == expected)
    }

    @Test("Of a reference without end, only the beginning is kept")
    func longReference() throws {
        let long = String(repeating: "a", count: 3 * MultistatusBody.longest)
        for count in [1, 1000, 100_000] {
            let read = try self.read("<multistatus><href>/\(long)</href><href>/y</href></multistatus>", by: count)
            #expect(read == "<multistatus><href>/app/\(long)</href><href>/app/y</href></multistatus>")
            let name = "<multistatus><\(long)href>/x</\(long)href></multistatus>"
            #expect(try self.read(name, by: count) == name)
        }
    }
}
