%% Runs many tree scripts, one after the other, in one Erlang node: for each FILE it writes FILE.otp.
-module(tree_driver).
-export([main/1]).
-define(LIMIT_MS, 60000).

%% List names a file with a script's path on each line.
main(List) ->
    {ok, Bin} = file:read_file(List),
    Before = registered(),
    [run(binary_to_list(File), Before) || File <- binary:split(Bin, <<"\n">>, [global]), File =/= <<>>],
    halt(0).

run(File, Before) ->
    {ok, Out} = file:open(File ++ ".otp", [write]),
    {Pid, M} = spawn_monitor(fun() -> group_leader(Out, self()), tree_script:run_file(File) end),
    receive
        {'DOWN', M, _, _, normal} -> ok;
        {'DOWN', M, _, _, Reason} -> io:format(Out, "tree_script failed: ~p~n", [Reason])
    after ?LIMIT_MS ->
        exit(Pid, kill),
        io:format(Out, "tree_script failed: it does not end~n", [])
    end,
    file:close(Out),
    clear(Before).

%% Every process of a script has a name: no script begins beside what is left of the last.
clear(Before) ->
    case registered() -- Before of
        [] -> ok;
        Left -> [kill(whereis(N)) || N <- Left], timer:sleep(1), clear(Before)
    end.
kill(undefined) -> ok;
kill(P) -> exit(P, kill).
