"""A room to talk in, by WebSocket, long polling or a form: tornado-chat.py PORT"""

import asyncio
import sys

import tornado.web
import tornado.websocket


class Room(tornado.web.RequestHandler):
    def get(self):
        user = tornado.escape.xhtml_escape(self.request.headers.get("X-Remote-User", ""))
        self.write(f"<!DOCTYPE html><title>Room</title><p>user: {user}</p><form>{self.xsrf_form_html()}</form>")


class Say(tornado.web.RequestHandler):
    def post(self):
        self.redirect("/room/1")


class Poll(tornado.web.RequestHandler):
    async def get(self):
        await asyncio.sleep(float(self.get_argument("seconds")))
        self.write("nothing new")


class Socket(tornado.websocket.WebSocketHandler):
    def on_message(self, message):
        self.write_message(message)


async def main():
    handlers = [(r"/room/\d+", Room), ("/say", Say), ("/poll", Poll), ("/socket", Socket)]
    tornado.web.Application(handlers, xsrf_cookies=True).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


asyncio.run(main())
