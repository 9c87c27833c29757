import Foundation
import GatewayBench

/// nginx as the web server of an app.
enum Nginx {
    static let program = Servers.find(["/usr/sbin/nginx"])

    /// What FastCGI programs read, without Debian's lines for fields that the guide sets.
    static let parameters = """
        fastcgi_param QUERY_STRING $query_string;
        fastcgi_param REQUEST_METHOD $request_method;
        fastcgi_param REQUEST_URI $request_uri;
        fastcgi_param CONTENT_TYPE $content_type;
        fastcgi_param CONTENT_LENGTH $content_length;
        fastcgi_param SERVER_PROTOCOL $server_protocol;
        fastcgi_param REMOTE_ADDR $remote_addr;
        fastcgi_param GATEWAY_INTERFACE CGI/1.1;
        """

    /// nginx with one server on a port, which has these lines for every path.
    static func server(in folder: URL, port: Int, name: String = "nginx", _ location: String) throws -> RealApp.Server {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(name)-\($0);" }
        let text = """
            daemon off;
            pid \(name).pid;
            worker_processes 1;
            events {}
            http {
                access_log off;
                client_max_body_size 0;
                \(temporary.joined(separator: "\n    "))
                server {
                    listen 127.0.0.1:\(port);
                    location / {
                        \(location)
                    }
                }
            }
            """
        let file = "\(name).conf"
        try text.write(to: folder.appending(path: file), atomically: true, encoding: .utf8)
        let arguments = ["-p", folder.path, "-c", file, "-e", "\(name)-error.log"]
        return RealApp.Server(program: self.program ?? "", arguments: arguments, port: port)
    }
}
