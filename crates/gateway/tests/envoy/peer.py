"""The job of tamis serve as a small ext_proc server in Python: collects a body, removes `ssn` with json, sends it.

    peer.py PORT

Needs grpcio and grpcio-tools. The messages are the part of Envoy's that this job needs, with the same numbers.
"""

import asyncio
import importlib
import json
import sys
import tempfile
from pathlib import Path

PROTO = """
syntax = "proto3";
package envoy.service.ext_proc.v3;
message HeaderValue { string key = 1; bytes raw_value = 3; }
message HeaderMap { repeated HeaderValue headers = 1; }
message HttpHeaders { HeaderMap headers = 1; bool end_of_stream = 3; }
message HttpBody { bytes body = 1; bool end_of_stream = 2; }
message HttpTrailers { HeaderMap trailers = 1; }
message ProcessingRequest {
  oneof request {
    HttpHeaders request_headers = 2; HttpHeaders response_headers = 3; HttpBody request_body = 4;
    HttpBody response_body = 5; HttpTrailers request_trailers = 6; HttpTrailers response_trailers = 7;
  }
}
message StreamedBodyResponse { bytes body = 1; bool end_of_stream = 2; }
message BodyMutation { StreamedBodyResponse streamed_response = 3; }
message HeaderMutation { repeated string remove_headers = 2; }
message CommonResponse { HeaderMutation header_mutation = 2; BodyMutation body_mutation = 3; }
message HeadersResponse { CommonResponse response = 1; }
message BodyResponse { CommonResponse response = 1; }
message TrailersResponse { }
message ProcessingResponse {
  oneof response {
    HeadersResponse request_headers = 1; HeadersResponse response_headers = 2; BodyResponse request_body = 3;
    BodyResponse response_body = 4; TrailersResponse request_trailers = 5; TrailersResponse response_trailers = 6;
  }
}
"""


def messages():
    from grpc_tools import protoc

    folder = tempfile.mkdtemp()
    (Path(folder) / "peer_messages.proto").write_text(PROTO)
    protoc.main(["protoc", f"-I{folder}", f"--python_out={folder}", "peer_messages.proto"])
    sys.path.insert(0, folder)
    return importlib.import_module("peer_messages_pb2")


def without(value):
    """Removes `ssn` from an object, or from those in an array."""
    for one in value if isinstance(value, list) else [value]:
        one.pop("ssn", None)
    return value


async def main(port):
    import grpc

    pb = messages()

    def body(data, last):
        streamed = pb.StreamedBodyResponse(body=data, end_of_stream=last)
        return pb.BodyResponse(response=pb.CommonResponse(body_mutation=pb.BodyMutation(streamed_response=streamed)))

    async def process(requests, _):
        held = bytearray()
        async for message in requests:
            kind = message.WhichOneof("request")
            if kind == "request_headers":
                yield pb.ProcessingResponse(request_headers=pb.HeadersResponse())
            elif kind == "request_body":
                part = message.request_body
                yield pb.ProcessingResponse(request_body=body(part.body, part.end_of_stream))
            elif kind == "response_headers":
                removed = pb.HeaderMutation(remove_headers=["content-length"])
                common = pb.CommonResponse(header_mutation=removed)
                yield pb.ProcessingResponse(response_headers=pb.HeadersResponse(response=common))
            elif kind == "response_body":
                held += message.response_body.body
                if message.response_body.end_of_stream:
                    text = json.dumps(without(json.loads(held)), separators=(",", ":")).encode()
                    for at in range(0, len(text), 65536):
                        last = at + 65536 >= len(text)
                        yield pb.ProcessingResponse(response_body=body(text[at : at + 65536], last))

    handler = grpc.stream_stream_rpc_method_handler(
        process, pb.ProcessingRequest.FromString, pb.ProcessingResponse.SerializeToString
    )
    service = grpc.method_handlers_generic_handler("envoy.service.ext_proc.v3.ExternalProcessor", {"Process": handler})
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([service])
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


asyncio.run(main(sys.argv[1]))
